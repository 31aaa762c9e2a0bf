extension ChannelConfiguration {
    /// The conditions of a retry.
    package struct Retry: Sendable, Hashable {
        /// Whether a refused token leads to one token refresh and one replay.
        package var unauthorized: Bool
        /// The responses other than a 401 that refuse the token.
        package var refusals = Refusals()
        /// The maximum size of a request body kept in memory for a replay or a retry; zero keeps none.
        package var replayBody: ByteCount
        /// The maximum size of a request body kept on disk instead of in memory.
        package var spill: ByteCount?
        /// The number of attempts after the first.
        package var attempts: Int
        package var status: [Int]
        package var backoff: Backoff
        /// The maximum share of retries among the channel's requests.
        package var budget: Percentage

        /// The responses other than a 401 that refuse the token.
        package struct Refusals: Sendable, Hashable {
            package var status: [Int] = []
            /// The text that the content must contain; nil means any content.
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
        /// The maximum number of exchanges that wait for a connection.
        package var queue: Int
        package var wait: Duration
    }
}

/// A part of an upstream's responses in which names are mapped to those in the client's request.
package enum RewrittenPart: String, Sendable, CaseIterable {
    /// `Location`, `Content-Location`, `Link` and `Refresh`.
    case links
    case cookies
}
