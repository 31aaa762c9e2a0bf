package import System

/// Where whole lines end up: a file that rotates, standard output, or the journal.
package protocol LogDestination: AnyObject {
    /// Counts up each time a new file begins, so that the rest of a line that was cut off in the
    /// old one is not written to the new one.
    var generation: Int { get }

    /// Makes ready for `count` more bytes: opens, reopens or rotates the file where that is due.
    ///
    /// - Throws: what failed; nothing can be written then.
    func prepare(adding count: Int, now: ContinuousClock.Instant) throws(FileError)

    /// Writes some or all of the bytes, with one system call, and returns how many.
    func write(_ bytes: Span<UInt8>) throws(FileError) -> Int

    /// Forgets the open file, so that the next `prepare` opens the path anew.
    func reopen()

    /// What went wrong without costing lines, once.
    func takeTrouble() -> FileError?
}

extension LogDestination {
    /// Nothing.
    package func takeTrouble() -> FileError? { nil }
}

/// Standard output as a destination.
///
/// It never waits for a reader: what a full pipe does not take is lost and counted.
package final class StandardOutputDestination: LogDestination {
    private static let stream = StandardStream.output.withoutWaiting
    /// Always the same stream.
    package let generation = 0

    /// Makes a destination.
    package init() {}

    /// Nothing to prepare.
    package func prepare(adding count: Int, now: ContinuousClock.Instant) {}

    /// Writes at most what the reader's pipe takes at once.
    package func write(_ bytes: Span<UInt8>) throws(FileError) -> Int {
        try StandardOutputDestination.stream.writePiece(bytes, patience: .zero)
    }

    /// Nothing to reopen.
    package func reopen() {}
}
