extension ChannelConfiguration {
    /// When an attempt is repeated.
    package struct Retry: Sendable, Hashable {
        /// Whether a 401 leads to one refresh and one replay.
        package var unauthorized: Bool
        /// The largest request body kept in memory for a replay or a retry; zero means none is.
        package var replayBody: ByteCount
        /// The largest request body kept on disk instead.
        package var spill: ByteCount?
        /// Attempts beyond the first.
        package var attempts: Int
        package var status: [Int]
        package var backoff: Backoff
        /// Retries as a share of the channel's requests.
        package var budget: Percentage

        /// The range of the pause before an attempt; full jitter.
        package struct Backoff: Sendable, Hashable {
            package var base: Duration
            package var max: Duration
        }
    }

    /// How long each stage may take; nil means no limit.
    package struct Timeouts: Sendable, Hashable {
        package var connect: Duration?
        package var response: Duration?
        package var idle: Duration?
        package var total: Duration?
    }

    /// Connections kept towards the upstream, and the line for them.
    package struct Pool: Sendable, Hashable {
        package var connections: Int
        package var idle: Duration
        /// Exchanges that may wait for a connection.
        package var queue: Int
        package var wait: Duration
    }
}
