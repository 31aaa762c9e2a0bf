/// One upstream API as configured, with `defaults` merged in.
package struct ChannelConfiguration: Sendable, Equatable {
    package var name: String
    /// At least one, unless there is a stub; further ones are tried in order.
    package var upstreams: [UpstreamURL]
    package var match: Match
    package var log: LogLabels
    package var headers: HeaderRules
    package var trace: Trace
    package var authentication: Authentication
    package var onClientCredential: OnClientCredential
    package var allowInsecure: Bool
    package var retry: Retry
    package var timeouts: Timeouts
    package var pool: Pool
    package var tls: UpstreamTLS
    package var access: Access
    /// A proxy on the way to the upstream.
    package var proxy: ProxySettings?
    /// Answers in place of the upstream, which is not asked then; the first that fits is given.
    package var stub: [SampleAnswer]?

    /// Which requests are for the channel.
    package struct Match: Sendable, Hashable {
        /// A path prefix without a slash at its end, or `/`.
        package var path: String
        /// Lower case, without port.
        package var hosts: [String]
        package var listen: ListenAddress?
        package var strip: StripPrefix

        /// Whether the matched prefix is removed from the path.
        package enum StripPrefix: Sendable {
            case remove
            case keep
        }
    }

    /// How the channel's exchanges are labelled in the log.
    package struct LogLabels: Sendable, Hashable {
        package var subsystem: String
        package var category: String
        package var query: Query
        package var headers: [String]

        /// What the log keeps of a query.
        package enum Query: String, Sendable, CaseIterable {
            case keys
            case full
            case off
        }
    }

    /// What a request gets that belongs to no trace (W3C Trace Context).
    package enum Trace: String, Sendable, CaseIterable {
        /// Nothing.
        case pass
        /// A trace of its own, which nobody has asked to record.
        case start
        /// A trace of its own, to be recorded.
        case sampled
    }

    /// What happens when the app sends the credential's header itself.
    package enum OnClientCredential: String, Sendable, CaseIterable {
        case replace
        case keep
        case reject
    }

    /// Who may use the channel.
    package struct Access: Sendable, Hashable {
        /// Names, `*.suffix` or `*`, beside the names that are always allowed.
        package var hosts: [String]
        package var origins: [String]
        /// Peer uids on unix sockets; empty means everybody.
        package var users: [UInt32]
        package var key: SecretReference?
        /// Methods that may be used, in upper case, with `HEAD` in `GET`; empty means all.
        package var methods: [String]
        /// Patterns of paths below the upstream's URL, `/orders/*`; empty means all.
        package var paths: [String]
    }
}
