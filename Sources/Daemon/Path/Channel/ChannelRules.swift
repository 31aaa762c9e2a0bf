package import NetproxyConfig
package import NetproxyEventIO
import NetproxyHTTP1
package import NetproxyHTTPMessage
package import NetproxyRequestLog
package import NetworkCore
package import OAuth
package import OriginTransport

/// What the requests of a channel are measured by, on all loops: access, scope, limits, names and fields,
/// with the stack of interceptors that they pass through.
package final class ChannelRules: Sendable {
    package let configuration: ChannelConfiguration
    /// Of the first upstream.
    package let origin: Origin
    /// Every upstream's origin and base path, in the order of the configuration.
    let upstreams: [(origin: Origin, basePath: String)]
    /// Which of them could not be reached recently.
    let rests: UpstreamRests
    package let access: AccessPolicy
    let scope: AccessScope
    /// `nil` if the channel takes any number of requests.
    package let limiter: RateLimiter?
    /// Which clients its credentials are for, in the order in which they are used.
    let clients: [AccountChoice.Clients]
    /// Which of them a request gets, where that depends on the client.
    let accountChoice: AccountChoice?
    /// The scopes that the API misses; `nil` where netproxy does not find the authorization server.
    package let wantedScope: WantedScope?
    /// What apps could sign in with themselves; `nil` where they may.
    let hidden: HiddenMetadata?
    /// The resource of a stored sign-in that is not the channel's.
    private let otherResource: String?
    /// Where the credential goes; `nil` without one.
    let place: CredentialPlace?
    /// The upstreams, as their responses name them.
    let names: UpstreamNames
    /// Whether every response may need `references`, interim ones included.
    let editsInterim: Bool
    let tls: TLSContext?
    /// Another proxy on the way to the upstreams.
    private let proxy: ParentProxy?
    /// The outage during which the channel refuses its requests; `nil` while it serves.
    package let outage: ChannelOutage?
    /// The stub that answers instead of the upstreams, if the channel has one.
    let samples: SampleTransport?
    let log: ChannelLog
    let credentialFields: [HTTPFieldName]
    /// The secret values that requests carry in addition to the credential; they are never shown.
    let secrets: [Secret]
    /// Fields that only the channel may set, and that another name can look like.
    ///
    /// Not that of its credential, which the app may be allowed to send: `AuthorizationInterceptor`
    /// takes care of its spellings.
    let ruledFields: [HTTPFieldName]
    /// Whether no rule is about `User-Agent`.
    let fillsInUserAgent: Bool
    let loggedHeaders: [HTTPFieldName]
    let trace: ChannelConfiguration.Trace
    package let stack: InterceptorStack

    /// Takes the rules of a configuration, and the parts that were made for it.
    package init(_ configuration: ChannelConfiguration, _ parts: Parts) {
        self.configuration = configuration
        origin = parts.origin
        clients = parts.clients
        accountChoice = AccountChoice(among: parts.clients)
        wantedScope = configuration.discovery.map { _ in WantedScope() }
        hidden = HiddenMetadata(of: parts.pinned, on: configuration)
        otherResource = parts.otherResource
        access = parts.access
        scope = AccessScope(
            methods: configuration.access.methods.compactMap { HTTPMethod(rawValue: $0) },
            paths: configuration.access.paths.map(PathPattern.init),
            basePath: configuration.upstreams.first?.basePath ?? ""
        )
        limiter = parts.limiter
        log = parts.log
        place = configuration.credentialPlace
        names = UpstreamNames(configuration)
        let isReflected = place != nil && place?.fieldName == nil
        editsInterim = isReflected || !configuration.rewrite.isEmpty
        upstreams = configuration.upstreams.map { ($0.origin, $0.basePath) }
        rests = UpstreamRests(count: upstreams.count)
        outage = parts.outage
        samples = parts.samples
        tls = parts.tls
        proxy = parts.proxy
        credentialFields = configuration.credentialFields
        let edited = configuration.editedFields
        // The credential's own place is for the interceptor, which may keep or refuse what is there.
        let own = place?.fieldName
        ruledFields =
            (credentialFields.filter { $0 != own } + edited.replaced + edited.removed)
            .filter(\.mayBeImitated)
        fillsInUserAgent = !(edited.defaults + edited.removed + edited.replaced)
            .contains(.userAgent)
        trace = configuration.trace
        loggedHeaders = configuration.log.headers.compactMap { HTTPFieldName($0) }
        secrets = parts.secrets
        stack = parts.stack
    }

    /// Whether a response with these fields may need `references`.
    func edits(_ headers: HTTPHeaders) -> Bool {
        editsInterim || ResponseReferences.mayBe(in: headers)
    }

    /// What responses refer to, with a credential that was sent.
    func references(_ view: DownstreamView, _ credential: Credential?) -> ResponseReferences {
        ResponseReferences(
            view: view,
            rewritten: configuration.rewrite,
            reflection: CredentialReflection(of: credential, in: place, names)
        )
    }

    /// Decides which of the channel's credentials a request may have.
    ///
    /// - Parameters:
    ///   - key: the lent key that came with the request.
    ///   - userID: the peer's on a unix socket.
    ///   - context: gets the choice.
    /// - Throws: `http_request_denied` with 403 if no credential is for this client.
    @inline(never)
    func chooseAccounts(
        for key: LentKey?,
        _ userID: UInt32?,
        _ context: inout RequestContext
    ) throws(NetworkError) {
        guard let choice = accountChoice else {
            return try AccountChoice.check(key, among: clients)
        }
        let places = try choice.places(for: key, userID)
        (context.accounts, context.preferredAccounts) = (places.all, places.preferred)
    }

    /// The advice to sign in, and the reason if another sign-in is stored.
    func advice(_ signIn: String) -> String {
        guard let otherResource else { return signIn }
        return "the stored sign-in is for another resource, \(otherResource): \(signIn)"
    }

    /// A target without the credential in it.
    func shown(_ target: String) -> String {
        if let parameter = place?.parameter { return parameter.removed(from: target) }
        guard case .path = place?.location else { return target }
        return names.all.lazy.compactMap { $0.shown(target) }.first ?? target
    }

    /// A target of the first upstream with a value in the credential's place.
    func target(_ target: String, with value: String) -> String {
        guard case .path(let template) = place?.location, let template,
            let match = template.match(target)
        else { return target }
        return template.filled(with: value) + match.rest
    }

    /// The upstream's scheme and the authority that requests name it by.
    func sentName(hostOf head: RequestHead) -> String {
        switch configuration.host {
        case .upstream: "\(origin)"
        case .app: "\(origin.scheme.rawValue)://\(head.host.map(\.description) ?? origin.authority)"
        case .name(let name): "\(origin.scheme.rawValue)://\(name)"
        }
    }

    package var name: String { configuration.name }
    /// Whether netproxy adds a secret to requests.
    var sendsSecrets: Bool {
        !clients.isEmpty || !secrets.isEmpty
            || configuration.proxy?.login != nil
                && upstreams.contains { $0.origin.scheme == .http }
    }
    /// The first upstream, as `/status` shows it.
    package var upstream: String {
        guard configuration.stub == nil, let first = upstreams.first else {
            return SampleTransport.address
        }
        return "\(first.origin)\(first.basePath)"
    }
    /// The other upstreams, if there are any.
    package var furtherUpstreams: [String]? {
        guard configuration.stub == nil, upstreams.count > 1 else { return nil }
        return upstreams.dropFirst().map { "\($0.origin)\($0.basePath)" }
    }
    /// Where its connections go: to the upstreams, and to a proxy on the way.
    var destinations: [(host: String, port: UInt16)] {
        let proxies = proxy.map { [(host: $0.host, port: $0.port)] } ?? []
        return upstreams.map { (host: $0.origin.host, port: $0.origin.port) } + proxies
    }
    var idleTimeout: Duration? { configuration.timeouts.idle }
    var totalTimeout: Duration? { configuration.timeouts.total }

    /// How connections are made, with a loop's share of the process's limit.
    package func options(forLoop index: Int, of loops: Int) -> UpstreamOptions {
        var options = UpstreamOptions(configuration, proxy: proxy)
        // The configuration has at least one for each loop; the first loops share out the rest.
        let (share, rest) = configuration.pool.connections.quotientAndRemainder(dividingBy: loops)
        options.connections = share + (index < rest ? 1 : 0)
        options.keepAlive = configuration.pool.idle
        let queue = configuration.pool.queue
        options.queueLength = queue == 0 ? 0 : max(1, queue / loops)
        options.queueTimeout = configuration.pool.wait
        options.host =
            switch configuration.host {
            case .upstream: .origin
            case .app: .request
            case .name(let name): .name(name)
            }
        return options
    }
}

extension ChannelRules {
    /// The parts of a channel that need more than its configuration: secrets, files, other channels.
    package struct Parts: Sendable {
        /// Of the first upstream.
        let origin: Origin
        let access: AccessPolicy
        let log: ChannelLog
        let stack: InterceptorStack
        package var limiter: RateLimiter?
        /// Which clients the credentials are for, in the order in which they are used.
        package var clients: [AccountChoice.Clients] = []
        /// The secret values of fields beside the credential.
        package var secrets: [Secret] = []
        /// The authorization server that was found by the upstream's URL and trusted.
        package var pinned: PinnedServer?
        /// The resource of a stored sign-in that is not the channel's.
        package var otherResource: String?
        package var tls: TLSContext?
        package var proxy: ParentProxy?
        package var samples: SampleTransport?
        package var outage: ChannelOutage?

        /// Takes the parts that every channel has.
        package init(
            origin: Origin,
            access: AccessPolicy,
            log: ChannelLog,
            stack: InterceptorStack
        ) {
            (self.origin, self.access, self.log, self.stack) = (origin, access, log, stack)
        }
    }
}
