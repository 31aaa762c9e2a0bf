import FoundationEssentials

/// A line of the request log, with the facts that stories check.
package struct LogLine: Sendable {
    /// The facts of an exchange, named after the line's keys.
    package struct Facts: Decodable, Sendable {
        package var channel: String?
        package var event: String?
        package var level: String?
        package var requestID: String?
        package var clientRequestID: String?
        package var traceID: String?
        package var method: String?
        package var path: String?
        package var status: Int?
        package var host: String?
        package var upstream: String?
        package var upstreamStatus: Int?
        package var bytesIn: Int?
        package var bytesOut: Int?
        package var reused: Bool?
        package var attempts: Int?
        package var retries: [String]?
        package var auth: Authorization?
        package var error: String?
        package var abortedBy: String?
        package var timings: Timings?

        private enum CodingKeys: String, CodingKey {
            case channel, event, level, method, host, path, status, upstream, reused, attempts
            case retries, auth, error, timings
            case requestID = "request_id"
            case clientRequestID = "client_request_id"
            case traceID = "trace_id"
            case upstreamStatus = "upstream_status"
            case bytesIn = "bytes_in"
            case bytesOut = "bytes_out"
            case abortedBy = "aborted_by"
        }
    }

    /// The durations of phases of an exchange.
    package struct Timings: Decodable, Sendable {
        package var connectMS: Double?

        private enum CodingKeys: String, CodingKey {
            case connectMS = "connect_ms"
        }
    }

    /// The state of the credential.
    package struct Authorization: Decodable, Sendable {
        package var kind: String?
        package var identity: String?
        package var generation: Int?
        package var refreshed: Bool?
        package var overrodeClient: Bool?
        package var notReplayed: String?

        private enum CodingKeys: String, CodingKey {
            case kind, identity, generation, refreshed
            case overrodeClient = "overrode_client"
            case notReplayed = "not_replayed"
        }
    }

    /// The line itself.
    package let text: String
    /// Its facts.
    package let facts: Facts

    init(_ text: String) throws {
        self.text = text
        facts = try JSONDecoder().decode(Facts.self, from: Data(text.utf8))
    }
}
