extension ChannelConfiguration {
    /// The conditions of a retry.
    package struct Retry: Sendable, Hashable {
        /// Whether a refused token leads to one token refresh and one replay.
        package var unauthorized: Bool
        /// The responses besides a 401 that refuse the token.
        package var refusals = Refusals()
        /// The largest request body kept in memory for a replay or a retry; zero keeps none.
        package var replayBody: ByteCount
        /// The largest request body kept on disk instead of in memory.
        package var spill: ByteCount?
        /// The number of attempts after the first.
        package var attempts: Int
        package var status: [Int]
        package var backoff: Backoff
        /// Retries as a share of the channel's requests.
        package var budget: Percentage

        /// Responses besides a 401 that refuse the token.
        package struct Refusals: Sendable, Hashable {
            package var status: [Int] = []
            /// The text that their content must contain; nil means any content.
            package var body: String?
        }

        /// The range of the delay before a retry, with full jitter.
        package struct Backoff: Sendable, Hashable {
            package var base: Duration
            package var max: Duration
        }
    }

    /// The time limits of each phase; nil means no limit.
    package struct Timeouts: Sendable, Hashable {
        package var connect: Duration?
        package var response: Duration?
        package var idle: Duration?
        package var total: Duration?
    }

    /// The connections to the upstream, and the queue for them.
    package struct Pool: Sendable, Hashable {
        package var connections: Int
        package var idle: Duration
        /// Exchanges that may wait for a connection.
        package var queue: Int
        package var wait: Duration
    }
}

/// A part of an upstream's responses that is mapped to the names that the client used.
package enum RewrittenPart: String, Sendable, CaseIterable {
    /// `Location`, `Content-Location`, `Link` and `Refresh`.
    case links
    case cookies
}
