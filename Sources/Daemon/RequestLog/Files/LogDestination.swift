package import NetproxySystem

/// A destination for whole lines: a rotating file, standard output, or the journal.
package protocol LogDestination: AnyObject {
    /// Incremented for each new file, so that the rest of a line cut off in the old file is not written to
    /// the new one.
    var generation: Int { get }

    /// Prepares for `count` more bytes: opens, reopens or rotates the file if necessary.
    ///
    /// - Throws: `FileError` if nothing can be written.
    func prepare(adding count: Int, now: ContinuousClock.Instant) throws(FileError)

    /// Writes some or all of the bytes with one system call, and returns their number.
    func write(_ bytes: Span<UInt8>) throws(FileError) -> Int

    /// Closes the file; the next `prepare` opens the path again.
    func reopen()

    /// Returns a problem that lost no lines; each is returned once.
    func takeWarning() -> FileError?
}

extension LogDestination {
    /// Returns nil: this destination has no such problems.
    package func takeWarning() -> FileError? { nil }
}

/// Writes lines to standard output.
///
/// A slow reader delays the writing thread briefly. Lines that do not fit into a full pipe by then are lost
/// and counted.
package final class StandardOutputDestination: LogDestination {
    private static let stream = StandardStream.output.withoutWaiting
    private let patience: Duration
    /// Always 0: standard output is a single stream.
    package let generation = 0

    /// Creates a destination.
    ///
    /// - Parameter patience: the maximum time that a write waits for the reader; zero on an event loop.
    package init(patience: Duration = .milliseconds(200)) {
        self.patience = patience
    }

    /// Does nothing.
    package func prepare(adding count: Int, now: ContinuousClock.Instant) {}

    /// Writes as much as the pipe accepts immediately.
    package func write(_ bytes: Span<UInt8>) throws(FileError) -> Int {
        try StandardOutputDestination.stream.writePiece(
            bytes,
            patience: patience
        )
    }

    /// Does nothing.
    package func reopen() {}
}
