import NetproxyHTTPMessage
package import NetproxySettings

/// The configuration of one upstream API, with `defaults` merged in.
package struct ChannelConfiguration: Sendable, Equatable {
    package var name: String
    /// The name of the built-in provider whose keys the channel has.
    package var preset: String?
    /// The upstreams, tried in order: at least one, unless there is a stub.
    package var upstreams: [UpstreamURL]
    /// The versions of HTTP for requests to the upstreams.
    package var versions: HTTPVersions
    package var host: SentHost
    package var match: Match
    package var log: LogOptions
    package var headers: HeaderRules
    package var trace: Trace
    /// The credentials in the order of their use; none without `auth`.
    package var credentials: [CredentialConfiguration]
    /// The place of the credential in requests; nil without one.
    package var placement: CredentialPlacement?
    package var onClientCredential: ClientCredentialPolicy
    package var allowInsecure: Bool
    package var retry: Retry
    package var timeouts: Timeouts
    package var pool: Pool
    package var tls: TLSDemands
    package var access: Access
    package var rewrite: Set<RewrittenPart>
    package var scrub: Scrub
    /// The limit on requests; nil means any number.
    package var rate: RateSettings?
    /// The proxy on the way to the upstream.
    package var proxy: ProxySettings?
    /// The responses sent instead of contacting the upstream; the first match is used.
    package var stub: [SampleAnswer]?
    /// The variables that `netproxy exec` sets for the channel.
    package var exec: [ExecVariable] = []

    /// A variable of a program under `netproxy exec`.
    package struct ExecVariable: Sendable, Hashable {
        package var name: String
        package var value: ExecText
    }

    /// The requests that the channel handles.
    package struct Match: Sendable, Hashable {
        /// A path prefix without a trailing slash, or `/`.
        package var path: String
        /// The host names in lower case, without port.
        package var hosts: [String]
        package var listen: ListenAddress?
        package var strip: StripPrefix

        /// The treatment of the matched prefix in the path.
        package enum StripPrefix: Sendable {
            case remove
            case keep
        }
    }

    /// The labels and contents of the channel's log lines.
    package struct LogOptions: Sendable, Hashable {
        package var subsystem: String
        package var category: String
        package var query: QueryMode
        package var headers: [String]
    }

    /// The parts of responses from which the sent credentials are removed.
    package enum Scrub: String, Sendable, CaseIterable {
        /// The field sections.
        case headers
        /// The field sections and the content.
        case content
        case off
    }

    /// The treatment of a request without a trace (W3C Trace Context).
    package enum Trace: String, Sendable, CaseIterable {
        /// The request remains without a trace.
        case pass
        /// The request starts a new trace without sampling.
        case start
        /// The request starts a new, sampled trace.
        case sampled
    }

    /// The clients that may use the channel, and the requests that they may send.
    package struct Access: Sendable, Hashable {
        /// Names, `*.suffix` or `*`, in addition to the names that are always allowed.
        package var hosts: [String]
        package var origins: [String]
        /// User IDs of peers on Unix sockets; empty means all users.
        package var users: [UInt32]
        package var key: SecretReference?
        /// Allowed methods in upper case; empty means all.
        ///
        /// `GET` includes `HEAD`.
        package var methods: [String]
        /// Patterns of allowed paths below the upstream's URL, such as `/orders/*`; empty means all.
        package var paths: [String]
    }
}

extension ChannelConfiguration {
    /// The first credential; the other credentials of a channel have the same place.
    package var authentication: Authentication { credentials.first?.authentication ?? .none }

    /// The fields that the channel edits, except its credential; each key that edits fields is listed here.
    package var editedFields: EditedFields {
        EditedFields(
            removed: headers.remove.compactMap(HTTPFieldName.init),
            defaults: headers.defaults.compactMap { HTTPFieldName($0.name) },
            replaced: (headers.set.map(\.name) + headers.secrets.map(\.name))
                .compactMap(HTTPFieldName.init)
        )
    }
}

extension ChannelConfiguration {
    /// The discovery of the authorization server by the upstream's URL, or nil without it.
    package var discovery: OAuthSettings.Discovery? {
        credentials.first?.oauth?.discovery
    }
}
