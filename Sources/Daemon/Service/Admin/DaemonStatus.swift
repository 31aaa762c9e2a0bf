import FoundationEssentials
package import NetproxyPath

/// The state of the daemon at one moment: what `/status` says and `netproxy status` shows.
///
/// Names are written in snake case; a duration's name ends in its unit.
package struct DaemonStatus: Sendable, Codable {
    /// One channel, added up over the loops.
    package struct ChannelStatus: Sendable, Codable {
        /// Its name.
        package var name: String
        /// The URL of the first upstream.
        package var upstream: String
        /// The URLs of those that are tried where it cannot be reached, in their order.
        package var furtherUpstreams: [String]?
        /// `failed` while it refuses its requests because it lacks a secret or a file, `starting` during the
        /// first reading; otherwise `nil`.
        package var state: String?
        /// The secrets and files that it lacks; without `state`, it serves with earlier values.
        package var reason: String?
        /// The seconds until the next attempt to read them; `nil` during an attempt.
        package var nextAttemptS: Double?
        /// The state of its OAuth token, if it has one; with several identities, see those.
        package var token: Token?
        /// The identities that it uses, in their order.
        package var identities: [String]?
        /// For how many seconds those are left alone that the API has limited or refused.
        package var resting: [String: Double]?
        /// Its connections to the upstream.
        package var pool: PoolCounts
        /// Exchanges that ended.
        package var requests: Int
        /// Exchanges that ended with one of netproxy's own errors.
        package var errors: Int
        /// The same by error code; codes without an exchange are left out.
        package var errorsByWord: [String: Int]?
        /// Calls of gRPC by their status, such as `OK`; statuses without a call are left out.
        package var callsByStatus: [String: Int]?
        /// Attempts beyond the first.
        package var retries: Int
        /// Exchanges by class of status: `2xx`, or `none` if the client got no response.
        package var statuses: [String: Int]
        /// Content bytes from clients.
        package var bytesIn: Int
        /// Content bytes to clients.
        package var bytesOut: Int
        /// How long exchanges took, from the complete head to the last byte to the client.
        package var durations: Durations?
        /// How long the upstream took, from when the request of the last attempt went out, over a
        /// connection that was there, to the head of its response.
        package var firstBytes: Durations?
    }

    /// A credential that channels share.
    package struct Identity: Sendable, Codable {
        /// Its name.
        package var name: String
        /// The channels that use it.
        package var channels: [String]
        /// The state of its token; `nil` for a fixed credential, and where all channels ask for less.
        package var token: Token?
        /// The tokens of channels that ask for less than the identity has.
        package var narrowed: [Token]?

        /// Its tokens, that of the whole identity first.
        package var tokens: [Token] { (token.map { [$0] } ?? []) + (narrowed ?? []) }
    }

    /// How many durations were how long.
    package struct Durations: Sendable, Codable {
        /// Those that were at most so long.
        package struct Bucket: Sendable, Codable {
            /// The longest, in seconds; `nil` for the bucket without a bound.
            package var withinS: Double?
            /// How many, those of the shorter ones included.
            package var count: Int
        }

        /// From the shortest to all of them.
        package var buckets: [Bucket]
        /// What they add up to, in seconds.
        package var sumS: Double
    }

    /// A token, without the token.
    package struct Token: Sendable, Codable {
        /// `empty`, `fresh`, `stale`, `expired`, `refreshing`, `failed` or `dead`.
        package var state: String
        /// Which token of its family; `nil` before the first.
        package var generation: Int?
        /// How old it is, in seconds.
        package var ageS: Double?
        /// How long it still lives, in seconds.
        package var expiresInS: Double?
        /// How long the refresh token still lives, in seconds, if the server reports it; then a new sign-in
        /// is needed.
        package var refreshExpiresInS: Double?
        /// What it is good for, as granted.
        package var scope: String?
        /// The scopes that the API has missed since the last sign-in, which another one asks for.
        package var wantedScope: String?
        /// The authorization server that was found by the upstream's URL and trusted.
        package var issuer: String?
        /// netproxy's client id there.
        package var client: String?
        /// How it came by it: `configured`, `document`, `registered`, or `refused`.
        package var clientKind: String?
        /// The resource that its tokens are for.
        package var resource: String?
        /// The resource of a stored sign-in that is not the channel's.
        package var otherResource: String?
        /// Whether the token is not in the state directory, because writing failed.
        package var isUnsaved: Bool?
        /// How many requests wait for it.
        package var waiters: Int?
        /// The last error, in the server's own words if it sent any.
        package var lastError: String?
        /// In how many seconds the token endpoint is asked again at the earliest.
        package var nextAttemptS: Double?
        /// What to do when a new sign-in is needed; `nil` otherwise.
        package var advice: String?
        /// How many tokens came from the token endpoint since the start.
        package var renewals: Int?
        /// How many token requests failed since the start.
        package var failures: Int?
    }

    /// The resources that the process uses.
    package struct Process: Sendable, Codable {
        /// Seconds since 1970 at which it started.
        package var startS: Double
        /// Processor time so far, in seconds.
        package var cpuS: Double
        /// Seconds that event loops have spent polling instead of sleeping.
        package var polledS: Double?
        /// Memory in use, in bytes.
        package var residentBytes: Int?
        /// Open descriptors.
        package var descriptors: Int?
        /// How many descriptors it may have.
        package var descriptorLimit: Int
    }

    /// The store of tokens that machines share.
    package struct Store: Sendable, Codable {
        /// Which: `etcd`.
        package var kind: String
        /// The kind of the last fault, until what it prevented works again.
        package var fault: String?
        /// What is wrong.
        package var detail: String?
        /// How often each kind of fault was met.
        package var faults: [String: Int]
    }

    /// The configuration in force, and the last reload that was refused.
    package struct Configuration: Sendable, Codable {
        /// Its file.
        package var file: String
        /// Seconds since 1970 at which it came into force.
        package var loadedS: Double
        /// Seconds since 1970 at which a later one was refused; `nil` if none was.
        package var refusedS: Double?
        /// What was wrong with it, one error each.
        package var refusal: [String]?
    }

    /// The version of netproxy.
    package var version: String? = LibraryVersions.ownVersion
    /// Seconds since the start.
    package var uptimeS: Double
    /// `serving` or `draining`.
    package var state: String
    /// Where it listens.
    package var listen: [String]
    /// Event loops.
    package var workers: Int
    /// Open connections from clients.
    package var connections: Int
    /// Connections that were closed since the start because `limits.connections` was reached.
    package var connectionsRefused: Int?
    /// Lines of the request log that could not be written.
    package var logLinesDropped: Int
    /// Which configuration is in force, and whether a later one was refused.
    package var configuration: Configuration?
    /// The resources that the process uses.
    package var process: Process?
    /// Exchanges that no channel claimed, by class of status: refused, forwarded, tunnelled.
    package var unclaimed: [String: Int]?
    /// The store of tokens, where other machines use it too.
    package var store: Store?
    /// The credentials that channels share.
    package var identities: [Identity]?
    /// In the order of the configuration.
    package var channels: [ChannelStatus]
}

extension DaemonStatus {
    /// The tokens of an identity or of a channel, each with the name of its owner; `nil` for an unknown
    /// name.
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

    /// Reads the daemon's answer; `nil` if it is not a status.
    package init?(json: String) {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let read = try? decoder.decode(DaemonStatus.self, from: Data(json.utf8)) else {
            return nil
        }
        self = read
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
