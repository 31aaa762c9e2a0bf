package import NetproxyConfig
package import NetproxyEventIO
import NetproxyHTTP1
package import NetproxyHTTPMessage
package import NetproxyRequestLog
package import NetworkCore
package import OAuth
package import OriginTransport

/// The rules of a channel, shared by all loops: access, scope, limits, names and fields, with the stack of
/// interceptors for its requests.
package final class ChannelRules: Sendable {
    package let configuration: ChannelConfiguration
    /// The origin of the first upstream.
    package let origin: Origin
    /// The origin and base path of every upstream, in the order of the configuration.
    let upstreams: [(origin: Origin, basePath: String)]
    /// The cool-downs of the upstreams that were recently unreachable.
    let rests: UpstreamCoolDowns
    package let access: AccessPolicy
    let scope: AccessScope
    /// The rate limiter; `nil` if the channel accepts any number of requests.
    package let limiter: RateLimiter?
    /// The clients of each credential, in the order of use.
    let clients: [AccountChoice.Clients]
    /// The choice among credentials, if it depends on the client.
    let accountChoice: AccountChoice?
    /// The scopes that the API requires in addition; `nil` if netproxy does not discover the authorization
    /// server.
    package let wantedScope: WantedScope?
    /// The resources hidden from clients; `nil` if they may sign in themselves.
    let hidden: HiddenMetadata?
    /// The resource of the stored sign-in, if it differs from the channel's.
    private let otherResource: String?
    /// The place of the credential; `nil` without one.
    let place: CredentialPlace?
    /// The upstreams' names in their responses.
    let names: UpstreamNames
    /// Finds the secrets in requests besides the credential, and the channel's key.
    let knownSecrets: SecretSearch
    /// The parts of responses from which the sent secrets are removed.
    let scrub: ChannelConfiguration.Scrub
    /// Finds `secrets` in responses; `nil` if responses are not searched.
    let scrubbed: SecretSearch?
    /// Whether every response may need `references`, including interim ones.
    let editsInterim: Bool
    let tls: TLSContext?
    /// The proxy between netproxy and the upstreams.
    private let proxy: ParentProxy?
    /// The variable of the environment that names a proxy, which the channel does not use.
    let ignoredProxy: String?
    /// The outage during which the channel refuses its requests; `nil` while it serves.
    package let outage: ChannelOutage?
    /// The stub that responds instead of the upstreams, if the channel has one.
    let samples: SampleTransport?
    let log: ChannelLog
    let credentialFields: [HTTPFieldName]
    /// The secret values in requests besides the credential; they are never shown.
    let secrets: [Secret]
    /// The fields that only the channel may set and that another name can imitate.
    ///
    /// The credential's field is not among them, since the client may be allowed to send it;
    /// `AuthorizationInterceptor` handles its spellings.
    let ruledFields: [HTTPFieldName]
    /// Whether no rule affects `User-Agent`.
    let fillsInUserAgent: Bool
    let loggedHeaders: [HTTPFieldName]
    let trace: ChannelConfiguration.Trace
    package let stack: InterceptorStack

    /// Creates the rules from a configuration and the parts prepared for it.
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
        let isReflected =
            configuration.scrub != .off && place != nil && place?.fieldName == nil
        editsInterim = isReflected || !configuration.rewrite.isEmpty
        upstreams = configuration.upstreams.map { ($0.origin, $0.basePath) }
        rests = UpstreamCoolDowns(count: upstreams.count)
        outage = parts.outage
        samples = parts.samples
        tls = parts.tls
        proxy = parts.proxy
        ignoredProxy = parts.ignoredProxy
        credentialFields = configuration.credentialFields
        let edited = configuration.editedFields
        // The interceptor handles the credential's own place, and keeps or refuses the client's value.
        let own = place?.fieldName
        ruledFields =
            (credentialFields.filter { $0 != own } + edited.replaced + edited.removed)
            .filter(\.mayBeImitated)
        fillsInUserAgent = !(edited.defaults + edited.removed + edited.replaced)
            .contains(.userAgent)
        trace = configuration.trace
        loggedHeaders = configuration.log.headers.compactMap { HTTPFieldName($0) }
        secrets = parts.secrets
        knownSecrets = SecretSearch(
            parts.secrets + configuration.writtenCredentials + [parts.access.key].compactMap { $0 },
            ofAtLeast: SecretSearch.shortestShown
        )
        scrub = configuration.scrub
        scrubbed =
            scrub == .off || !configuration.hasCredential
            ? nil
            : SecretSearch(
                parts.secrets + configuration.writtenCredentials,
                ofAtLeast: SecretSearch.shortestRemoved
            )
        stack = parts.stack
    }

    /// Whether a response with these fields may need `references`.
    func edits(_ headers: HTTPHeaders) -> Bool {
        editsInterim || ResponseReferences.mayBe(in: headers)
    }

    /// Returns the references of a response to a request with a credential.
    func references(
        _ view: DownstreamView,
        _ credential: Credential?,
        by rule: RoutingRule?
    ) -> ResponseReferences {
        ResponseReferences(
            view: view,
            rewritten: configuration.rewrite,
            cookieScope: rule == .path ? configuration.match.path : nil,
            reflection: scrub == .off
                ? nil : CredentialReflection(of: credential, in: place, names)
        )
    }

    /// Chooses the credentials that a request may use.
    ///
    /// - Parameters:
    ///   - key: the lent key in the request.
    ///   - userID: the peer's user id on a unix socket.
    ///   - context: receives the choice.
    /// - Throws: `http_request_denied` with 403 if the client may use no credential.
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

    /// Returns the advice to sign in, with the reason if the stored sign-in is for another resource.
    func advice(_ signIn: String) -> String {
        guard let otherResource else { return signIn }
        return "the stored sign-in is for another resource, \(otherResource): \(signIn)"
    }

    /// Returns a target without the credential.
    func shown(_ target: String) -> String {
        if let parameter = place?.parameter { return parameter.removed(from: target) }
        guard case .path = place?.location else { return target }
        return names.all.lazy.compactMap { $0.shown(target) }.first ?? target
    }

    /// Returns a target of the first upstream with a value in the credential's place.
    func target(_ target: String, with value: String) -> String {
        guard case .path(let template) = place?.location, let template,
            let match = template.match(target)
        else { return target }
        return template.filled(with: value) + match.rest
    }

    /// Returns the scheme and authority by which requests name the upstream.
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
    /// The first upstream in the notation of `/status`.
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
    /// The destinations of the channel's connections: the upstreams and the proxy before them.
    var destinations: [(host: String, port: UInt16)] {
        let proxies = proxy.map { [(host: $0.host, port: $0.port)] } ?? []
        return upstreams.map { (host: $0.origin.host, port: $0.origin.port) } + proxies
    }
    var idleTimeout: Duration? { configuration.timeouts.idle }
    var totalTimeout: Duration? { configuration.timeouts.total }

    /// Returns the connection options, with a loop's share of the process's limit.
    package func options(forLoop index: Int, of loops: Int) -> UpstreamOptions {
        var options = UpstreamOptions(configuration, proxy: proxy)
        // The configuration has at least one for each loop; the first loops receive the remainder.
        let (share, rest) = configuration.pool.connections.quotientAndRemainder(dividingBy: loops)
        options.connections = share + (index < rest ? 1 : 0)
        options.keepAlive = configuration.pool.idle
        let queue = configuration.pool.queue
        options.queueLength = queue == 0 ? 0 : max(1, queue / loops)
        options.queueTimeout = configuration.pool.wait
        options.host = configuration.host
        return options
    }
}

extension ChannelRules {
    /// The parts of a channel that depend on more than its configuration: secrets, files, other channels.
    package struct Parts: Sendable {
        /// The origin of the first upstream.
        let origin: Origin
        let access: AccessPolicy
        let log: ChannelLog
        let stack: InterceptorStack
        package var limiter: RateLimiter?
        /// The clients of each credential, in the order of use.
        package var clients: [AccountChoice.Clients] = []
        /// The secret values of fields besides the credential.
        package var secrets: [Secret] = []
        /// The trusted authorization server discovered from the upstream's URL.
        package var pinned: PinnedServer?
        /// The resource of the stored sign-in, if it differs from the channel's.
        package var otherResource: String?
        package var tls: TLSContext?
        package var proxy: ParentProxy?
        /// The variable of the environment that names a proxy, which the channel does not use.
        package var ignoredProxy: String?
        package var samples: SampleTransport?
        package var outage: ChannelOutage?

        /// Creates the parts that every channel has.
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
