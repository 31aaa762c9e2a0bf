import Synchronization

/// The memory for buffered content, shared by all HTTP/2 connections of the process, in both directions.
///
/// | limit                                        | bytes                                                    |
/// |----------------------------------------------|----------------------------------------------------------|
/// | all connections together                     | the budget                                               |
/// | one connection                               | 64 KiB, and a sixteenth of the unused budget             |
/// | one stream before its content is read        | 64 KiB                                                   |
/// | one stream whose content is read at once     | as much as its connection, but at most 4 MiB             |
///
/// The 64 KiB of a connection are the window of RFC 9113 §6.9.2, which every peer may assume, so they are
/// granted even if the budget is used up. A connection gets at most a sixteenth of the unused part, so it
/// never takes the budget of the others (Choudhury and Hahne, "Dynamic Queue Length Thresholds").
///
/// If the content in memory uses up the window of a connection, its streams wait until one of them is read.
/// A stalled upload ends with its own timeouts. On a connection to an origin, new exchanges use another
/// connection, and the most expensive response that nobody has read for ten seconds is canceled
/// (`HTTP2Connection`).
package final class ContentBudget: Sendable {
    /// The budget of the process: 64 MiB.
    package static let process = ContentBudget(64 * 1024 * 1024)

    /// The memory of one open request besides its content, which also counts: 32 KiB, as measured.
    package static let streamCost = 32 * 1024

    private let size: Int
    private let taken = Atomic(0)

    /// Creates a budget of `size` bytes.
    package init(_ size: Int) { self.size = size }

    /// The number of bytes that are in use.
    package var used: Int { taken.load(ordering: .relaxed) }

    /// The number of bytes that one connection may use now.
    package var share: Int { max(0, size - used) / 16 }

    /// Takes bytes from the budget; a negative number returns them.
    package func take(_ count: Int) { taken.wrappingAdd(count, ordering: .relaxed) }
}
