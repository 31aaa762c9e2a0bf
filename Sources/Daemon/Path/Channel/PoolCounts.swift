/// Connections to an upstream, as `/status` shows them.
package struct PoolCounts: Sendable, Codable {
    /// How many there are.
    package var open = 0
    /// How many of them wait for a request.
    package var idle = 0
    /// How many requests wait for one.
    package var queued = 0

    /// Counts what is given.
    package init(open: Int = 0, idle: Int = 0, queued: Int = 0) {
        (self.open, self.idle, self.queued) = (open, idle, queued)
    }

    package static func + (left: PoolCounts, right: PoolCounts) -> PoolCounts {
        PoolCounts(
            open: left.open + right.open,
            idle: left.idle + right.idle,
            queued: left.queued + right.queued
        )
    }
}
