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
    static let streamCost = 32 * 1024

    private let size: Int
    private let taken = Atomic(0)

    /// Creates a budget of `size` bytes.
    package init(_ size: Int) { self.size = size }

    /// The number of bytes that are in use.
    package var used: Int { taken.load(ordering: .relaxed) }

    /// The number of bytes that one connection may use now.
    var share: Int { max(0, size - used) / 16 }

    /// Takes bytes from the budget; a negative number returns them.
    func take(_ count: Int) { taken.wrappingAdd(count, ordering: .relaxed) }
}

/// The window of one connection, as a value without I/O.
///
/// The peer may send a byte only after the byte has been taken from the budget, and a byte returns to the
/// budget, or to the peer, only after it was read. So the content in memory never exceeds what was taken.
struct ConnectionWindow {
    /// The window that every peer may assume (RFC 9113 §6.9.2).
    static let least = 65_535

    /// The number of content bytes in memory.
    private(set) var unread = 0
    /// The number of bytes taken from the budget.
    private(set) var taken = 0
    /// The number of bytes that the peer should be able to send; it grows while content is read.
    private(set) var target = ConnectionWindow.least
    private var sinceGrowth = 0
    private let largest: Int

    init(largest: Int) { self.largest = max(largest, ConnectionWindow.least) }

    /// Records received content.
    mutating func received(_ count: Int) { unread += count }

    /// Records content that was read or dropped.
    mutating func consumed(_ count: Int) {
        unread -= count
        sinceGrowth += count
        guard sinceGrowth >= target, target < largest else { return }
        sinceGrowth = 0
        target = min(2 * target, largest)
    }

    /// Takes bytes from the budget for the peer's window, or returns some.
    ///
    /// - Parameters:
    ///   - outstanding: the number of bytes that the peer may still send.
    ///   - budget: the budget of the process.
    /// - Returns: the number of bytes to add to the peer's window.
    mutating func update(outstanding: Int, from budget: ContentBudget) -> Int {
        // Content in memory, and what the peer may send already, cannot be taken back.
        let bound = outstanding + unread - ConnectionWindow.least
        let wanted = target + unread - ConnectionWindow.least
        let next = max(0, bound, min(wanted, budget.share))
        if next != taken {
            budget.take(next - taken)
            taken = next
        }
        let credit = taken - bound
        let isWorthAFrame =
            credit >= min(target, ConnectionWindow.least + taken) / 4
            || isLow(outstanding) && credit >= ConnectionWindow.least / 64
        return isWorthAFrame ? credit : 0
    }

    private func isLow(_ outstanding: Int) -> Bool { outstanding < ConnectionWindow.least / 8 }

    /// Whether the content in memory leaves the peer almost no room.
    func isFull(outstanding: Int) -> Bool { unread > 0 && isLow(outstanding) }

    /// The largest window of one stream.
    var largestOfStream: Int { min(target, ConnectionWindow.least + taken) }

    /// Returns everything to the budget.
    mutating func close(_ budget: ContentBudget) {
        budget.take(-taken)
        taken = 0
    }
}
