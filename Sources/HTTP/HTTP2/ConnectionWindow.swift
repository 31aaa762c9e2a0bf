import NetproxyBytes

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
