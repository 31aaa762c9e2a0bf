import FoundationEssentials

/// The state of the daemon at one moment: what `/status` says and `netproxy status` shows.
///
/// Names are written in snake case; a duration's name ends in its unit.
package struct DaemonStatus: Sendable, Codable {
    /// One channel, added up over the loops.
    package struct Channel: Sendable, Codable {
        /// Its name.
        package var name: String
        /// The upstream's origin.
        package var upstream: String
        /// The state of its OAuth token, if it has one.
        package var token: Token?
        /// Its connections to the upstream.
        package var pool: Pool
        /// Exchanges that ended.
        package var requests: Int
        /// Exchanges that netproxy ended with an error of its own.
        package var errors: Int
        /// Attempts beyond the first.
        package var retries: Int
        /// Exchanges by class of status: `2xx`, or `none` where the app got no answer.
        package var statuses: [String: Int]
        /// Content bytes from apps.
        package var bytesIn: Int
        /// Content bytes to apps.
        package var bytesOut: Int
    }

    /// A token, without the token.
    package struct Token: Sendable, Codable {
        /// `empty`, `fresh`, `stale`, `expired`, `refreshing`, `failed` or `dead`.
        package var state: String
        /// Which token of its family; nothing before the first.
        package var generation: Int?
        /// How old it is, in seconds.
        package var ageS: Double?
        /// How long it still lives, in seconds.
        package var expiresInS: Double?
        /// How long the refresh token still lives, in seconds, where the server told; then a person must
        /// sign in again.
        package var refreshExpiresInS: Double?
        /// What it is good for, as granted.
        package var scope: String?
        /// Whether the token is not in the state directory, because writing failed.
        package var isUnsaved: Bool?
        /// How many requests wait for it.
        package var waiters: Int?
        /// What went wrong last, in the server's own words where it had any.
        package var lastError: String?
        /// In how many seconds the token endpoint is asked again at the earliest.
        package var nextAttemptS: Double?
    }

    /// Connections to an upstream.
    package struct Pool: Sendable, Codable {
        /// How many there are.
        package var open: Int
        /// How many of them wait for a request.
        package var idle: Int
        /// How many requests wait for one.
        package var queued: Int
    }

    /// Seconds since the start.
    package var uptimeS: Double
    /// `serving` or `draining`.
    package var state: String
    /// Where it listens.
    package var listen: [String]
    /// Event loops.
    package var workers: Int
    /// Open connections from apps.
    package var connections: Int
    /// Lines of the request log that could not be written.
    package var logLinesDropped: Int
    /// Exchanges that no channel claimed, by class of status: refused, sent on, tunnels.
    package var unclaimed: [String: Int]?
    /// In the order of the configuration.
    package var channels: [Channel]

    /// Reads the daemon's answer; nothing if it is none.
    package init?(json: String) {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let read = try? decoder.decode(DaemonStatus.self, from: Data(json.utf8)) else {
            return nil
        }
        self = read
    }

    init(
        uptimeS: Double,
        state: String,
        listen: [String],
        workers: Int,
        connections: Int,
        logLinesDropped: Int,
        unclaimed: [String: Int],
        channels: [Channel]
    ) {
        self.uptimeS = uptimeS
        self.state = state
        self.listen = listen
        self.workers = workers
        self.connections = connections
        self.logLinesDropped = logLinesDropped
        self.unclaimed = unclaimed
        self.channels = channels
    }

    /// The answer to `/status`.
    var json: String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Unreachable else: it has texts and finite numbers only.
        guard let data = try? encoder.encode(self) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}
