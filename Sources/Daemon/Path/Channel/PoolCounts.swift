/// The connections to an upstream in the notation of `/status`.
package struct PoolCounts: Sendable, Codable {
    /// The number of open connections.
    package var open = 0
    /// The number of connections without a request.
    package var idle = 0
    /// The number of requests that wait for a connection.
    package var queued = 0

    /// Creates the counts.
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
