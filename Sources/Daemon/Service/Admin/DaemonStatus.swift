import FoundationEssentials
package import NetproxyPath

/// The state of the daemon at one moment, for `/status` and `netproxy status`.
///
/// Names are in snake case; the name of a duration ends in its unit.
package struct DaemonStatus: Sendable, Codable {
    /// One channel, summed over the loops.
    package struct ChannelStatus: Sendable, Codable {
        /// The name of the channel.
        package var name: String
        /// The URL of the first upstream.
        package var upstream: String
        /// The URLs of the fallback upstreams, in order.
        package var furtherUpstreams: [String]?
        /// The URL for clients: the first TCP listener and the channel's path; `nil` without such a listener.
        package var url: String?
        /// The state: `working`, `idle`, `failed`, `sign-in` or `starting`.
        ///
        /// A channel is `working` after a success, and `failed` after a failure, until the next result. It is
        /// `idle` before the first one, `failed` or `starting` while it refuses its requests because a secret
        /// or a file is missing, and `sign-in` if its requests need a sign-in first.
        package var state: State?
        /// `true` while the channel refuses its requests because a secret or a file is missing.
        package var refuses: Bool?
        /// The last failure, if no success followed it.
        package var failure: Failure?
        /// The seconds since the last success; `nil` before the first one.
        package var successAgeS: Double?
        /// The missing secrets and files; if the channel does not refuse requests, it serves with earlier
        /// values.
        package var reason: String?
        /// The seconds until the next attempt to read them; `nil` during an attempt.
        package var nextAttemptS: Double?
        /// The state of the OAuth token, if any; with several identities, see each identity.
        package var token: Token?
        /// The identities of the channel, in order.
        package var identities: [String]?
        /// The remaining cool-down, in seconds, of each identity that the API has limited or refused.
        package var resting: [String: Double]?
        /// The connections to the upstream.
        package var pool: PoolCounts
        /// The number of finished exchanges.
        package var requests: Int
        /// The number of exchanges that ended with an error of netproxy itself.
        package var errors: Int
        /// The number of these exchanges by error code; codes without an exchange are omitted.
        package var errorsByWord: [String: Int]?
        /// The number of gRPC calls by status, such as `OK`; statuses without a call are omitted.
        package var callsByStatus: [String: Int]?
        /// The number of attempts after the first.
        package var retries: Int
        /// The number of exchanges by class of status: `2xx`, or `none` if the client got no response.
        package var statuses: [String: Int]
        /// The number of content bytes from clients.
        package var bytesIn: Int
        /// The number of content bytes to clients.
        package var bytesOut: Int
        /// The durations of exchanges, from the complete head to the last byte to the client.
        package var durations: Durations?
        /// The response times of the upstream.
        ///
        /// They start when the last attempt sends its request over an open connection, and end with the head
        /// of the response.
        package var firstBytes: Durations?
    }

    /// The state of a channel.
    package enum State: String, Sendable, Codable {
        case working, idle, failed, starting
        case signIn = "sign-in"
    }

    /// A failed exchange of a channel.
    package struct Failure: Sendable, Codable {
        /// The seconds since the request.
        package var ageS: Double
        /// The status that the client received.
        package var status: Int?
        /// The error code, if netproxy reported the failure.
        package var error: String?
        /// The explanation, as a clause.
        package var detail: String
    }

    /// A credential that channels share.
    package struct Identity: Sendable, Codable {
        /// The name of the identity.
        package var name: String
        /// The channels that use the identity.
        package var channels: [String]
        /// The state of the token.
        ///
        /// It is `nil` for a fixed credential, and if all channels narrow the scopes.
        package var token: Token?
        /// The tokens of channels with narrowed scopes.
        package var narrowed: [Token]?

        /// All tokens; the token with the full scopes is first.
        package var tokens: [Token] { (token.map { [$0] } ?? []) + (narrowed ?? []) }
    }

    /// A histogram of durations.
    package struct Durations: Sendable, Codable {
        /// The durations up to a bound.
        package struct Bucket: Sendable, Codable {
            /// The upper bound in seconds; `nil` for the bucket without a bound.
            package var withinS: Double?
            /// The number of durations within the bound, including all shorter ones.
            package var count: Int
        }

        /// The buckets, from the smallest bound to no bound.
        package var buckets: [Bucket]
        /// The sum of all durations, in seconds.
        package var sumS: Double
    }

    /// The state of a token, without its secret.
    package struct Token: Sendable, Codable {
        /// `empty`, `fresh`, `stale`, `expired`, `refreshing`, `failed` or `dead`.
        package var state: String
        /// The number of the token in its family; `nil` before the first.
        package var generation: Int?
        /// The age of the token, in seconds.
        package var ageS: Double?
        /// The seconds until the token expires.
        package var expiresInS: Double?
        /// The seconds until the refresh token expires and a new sign-in is needed, if the server reports it.
        package var refreshExpiresInS: Double?
        /// The granted scopes.
        package var scope: String?
        /// The scopes that the API has required since the last sign-in; the next sign-in requests them.
        package var wantedScope: String?
        /// The trusted authorization server, discovered from the upstream's URL.
        package var issuer: String?
        /// The client id of netproxy at that server.
        package var client: String?
        /// The source of the client id: `configured`, `document`, `registered`, or `refused`.
        package var clientKind: String?
        /// The resource of the tokens.
        package var resource: String?
        /// The resource of a stored sign-in if it is not the channel's.
        package var otherResource: String?
        /// Whether the token is missing from the state directory because a write failed.
        package var isUnsaved: Bool?
        /// The fault of the token store, until it serves again.
        package var storeFault: String?
        /// The faults of the token store by kind, since the start.
        package var faults: [String: Int]?
        /// The number of requests waiting for the token.
        package var waiters: Int?
        /// The last error, in the server's own words if it sent any.
        package var lastError: String?
        /// The minimum number of seconds until the next token request.
        package var nextAttemptS: Double?
        /// The advice for a new sign-in; `nil` if none is needed.
        package var advice: String?
        /// The number of tokens from the token endpoint since the start.
        package var renewals: Int?
        /// The number of failed token requests since the start.
        package var failures: Int?
        /// The number of renewals that the excess guard has prevented since the start.
        package var excesses: Int?
    }

    /// The resources that the process uses.
    package struct Process: Sendable, Codable {
        /// The start time in seconds since 1970.
        package var startS: Double
        /// The used processor time, in seconds.
        package var cpuS: Double
        /// The time that event loops have spent polling instead of sleeping, in seconds.
        package var polledS: Double?
        /// The memory in use, in bytes.
        package var residentBytes: Int?
        /// The number of open descriptors.
        package var descriptors: Int?
        /// The maximum number of descriptors.
        package var descriptorLimit: Int
    }

    /// The token store that machines share.
    package struct Store: Sendable, Codable {
        /// The kind of store: `etcd`.
        package var kind: String
        /// The kind of the last fault, until the failed operation works again.
        package var fault: String?
        /// The description of the fault.
        package var detail: String?
        /// The number of faults by kind.
        package var faults: [String: Int]
    }

    /// The configuration in force, and the last refused reload.
    package struct Configuration: Sendable, Codable {
        /// The configuration file.
        package var file: String
        /// The time at which the configuration took effect, in seconds since 1970.
        package var loadedS: Double
        /// The time of a later refused reload, in seconds since 1970; `nil` if none was refused.
        package var refusedS: Double?
        /// The errors of the refused configuration.
        package var refusal: [String]?
    }

    /// The version of netproxy.
    package var version: String? = LibraryVersions.ownVersion
    /// The seconds since the start.
    package var uptimeS: Double
    /// `serving` or `draining`.
    package var state: String
    /// The addresses of the listeners.
    package var listen: [String]
    /// The number of event loops.
    package var workers: Int
    /// The number of open connections from clients.
    package var connections: Int
    /// The number of connections closed since the start because `limits.connections` was reached.
    package var connectionsRefused: Int?
    /// The number of lost lines of the request log.
    package var logLinesDropped: Int
    /// The configuration in force, and the last refused reload.
    package var configuration: Configuration?
    /// The resources that the process uses.
    package var process: Process?
    /// The number of exchanges without a channel, by class of status: refused, forwarded, tunneled.
    package var unclaimed: [String: Int]?
    /// The token store, if other machines use it too.
    package var store: Store?
    /// The credentials that channels share.
    package var identities: [Identity]?
    /// The channels in the order of the configuration.
    package var channels: [ChannelStatus]
}

extension DaemonStatus {
    /// Returns the tokens of an identity or a channel, each with the name of its owner.
    ///
    /// The result is `nil` for an unknown name.
    package func tokens(of name: String) -> [(owner: String, token: Token)]? {
        func tokens(_ names: [String]) -> [(owner: String, token: Token)] {
            (identities ?? []).filter { names.contains($0.name) }.flatMap { identity in
                identity.tokens.map { (identity.name, $0) }
            }
        }
        if identities?.contains(where: { $0.name == name }) == true { return tokens([name]) }
        guard let channel = channels.first(where: { $0.name == name }) else { return nil }
        if let token = channel.token { return [(channel.identities?.first ?? name, token)] }
        return tokens(channel.identities ?? [])
    }

    /// Parses the daemon's response; `nil` if it is not a status.
    package init?(json: String) {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let read = try? decoder.decode(DaemonStatus.self, from: Data(json.utf8)) else {
            return nil
        }
        self = read
    }

    /// The content of the response to `/status`.
    var json: String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Unreachable: the status contains only strings and finite numbers.
        guard let data = try? encoder.encode(self) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}
