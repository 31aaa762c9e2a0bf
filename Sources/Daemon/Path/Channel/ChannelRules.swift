import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore
import OriginTransport

/// What a channel's parts on all loops share: configuration, credential, interceptors, log.
final class ChannelShared: Sendable {
    let configuration: ChannelConfiguration
    /// The secrets and files that it was made of.
    let inputs: ChannelInputs
    /// Of the first upstream.
    let origin: Origin
    /// Every upstream's origin and base path, in the order of the configuration.
    let upstreams: [(origin: Origin, basePath: String)]
    /// Which of them could not be reached recently.
    let rests: UpstreamRests
    let access: AccessPolicy
    let scope: AccessScope
    /// `nil` if the channel takes any number of requests.
    let limiter: RateLimiter?
    /// Its credentials, in the order in which they are used.
    let accounts: [ChannelAccount]
    /// Which of them a request gets, where that depends on the client.
    let accountChoice: AccountChoice?
    /// The scopes that the API misses; `nil` where netproxy does not find the authorization server.
    let wantedScope: WantedScope?
    /// What apps could sign in with themselves; `nil` where they may.
    let hidden: HiddenMetadata?
    /// Where the credential goes; `nil` without one.
    let place: CredentialPlace?
    /// The upstreams, as their responses name them.
    let names: UpstreamNames
    /// Whether every response may need `references`, interim ones included.
    let editsInterim: Bool
    let tls: TLSContext?
    /// Another proxy on the way to the upstreams.
    private let proxy: ParentProxy?
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
    let stack: InterceptorStack

    init(
        _ configuration: ChannelConfiguration,
        _ inputs: ChannelInputs,
        accounts: [ChannelAccount],
        access: AccessPolicy,
        limiter: RateLimiter? = nil,
        log: ChannelLog,
        spillDirectory: String
    ) throws {
        self.configuration = configuration
        self.inputs = inputs
        self.accounts = accounts
        accountChoice = AccountChoice(among: accounts.map(\.clients))
        wantedScope = configuration.discovery.map { _ in WantedScope() }
        hidden = HiddenMetadata(of: inputs.pinned, on: configuration)
        self.access = access
        scope = AccessScope(
            methods: configuration.access.methods.compactMap { HTTPMethod(rawValue: $0) },
            paths: configuration.access.paths.map(PathPattern.init),
            basePath: configuration.upstreams.first?.basePath ?? ""
        )
        self.limiter = limiter
        self.log = log
        place = configuration.credentialPlace
        names = UpstreamNames(configuration)
        let isReflected = place != nil && place?.fieldName == nil
        editsInterim = isReflected || !configuration.rewrite.isEmpty
        upstreams = configuration.upstreams.map { upstream in
            (upstream.origin, upstream.basePath)
        }
        rests = UpstreamRests(count: upstreams.count)
        samples =
            configuration.stub == nil ? nil : try SampleTransport(configuration, inputs)
        guard
            let origin = upstreams.first?.origin ?? (samples == nil ? nil : SampleTransport.origin)
        else {
            throw IOError.system("channel \(configuration.name) has no upstream")
        }
        self.origin = origin
        tls =
            samples == nil && upstreams.contains { $0.origin.scheme == .https }
            ? try TLSContext(configuration.tls.options) : nil
        proxy = try configuration.proxy.map { settings throws(IOError) in
            let password = settings.login.flatMap { inputs.secrets[$0.password] }
            return try ParentProxy(settings, password, for: "channel \(configuration.name): proxy")
        }
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
        let secretFields = try configuration.headers.secretFields(inputs)
        secrets = secretFields.map { Secret($0.value) }
        stack = InterceptorStack(
            configuration,
            secretFields: secretFields,
            accounts: accounts,
            origin: origin,
            spillDirectory: spillDirectory
        )
    }

    /// Whether a response with these fields may need `references`.
    func edits(_ headers: HTTPHeaders) -> Bool {
        editsInterim || ResponseReferences.mayBe(in: headers)
    }

    /// What responses refer to, with a credential that was sent.
    func references(_ view: AppView, _ credential: Credential?) -> ResponseReferences {
        ResponseReferences(
            view: view,
            rewritten: configuration.rewrite,
            reflection: CredentialReflection(of: credential, in: place, names)
        )
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

    var name: String { configuration.name }
    /// Whether netproxy adds a secret to requests.
    var sendsSecrets: Bool {
        !accounts.isEmpty || !secrets.isEmpty
            || configuration.proxy?.login != nil
                && upstreams.contains { $0.origin.scheme == .http }
    }
    /// The first upstream, as `/status` shows it.
    var upstream: String {
        guard samples == nil, let first = upstreams.first else { return SampleTransport.address }
        return "\(first.origin)\(first.basePath)"
    }
    /// The other upstreams, if there are any.
    var furtherUpstreams: [String]? {
        guard samples == nil, upstreams.count > 1 else { return nil }
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
    func options(forLoop index: Int, of loops: Int) -> UpstreamOptions {
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

extension UpstreamOptions {
    /// How a channel connects, whatever its pool.
    init(_ channel: ChannelConfiguration, proxy: ParentProxy?) {
        self.init()
        timeSettings = .channel
        connectTimeout = channel.timeouts.connect
        responseTimeout = channel.timeouts.response
        idleTimeout = channel.timeouts.idle
        serverName = channel.tls.serverName
        versions =
            switch channel.versions {
            case .auto: .automatic
            case .http1: .http1
            case .http2: .http2
            }
        self.proxy = proxy
    }
}

extension UpstreamTLS {
    /// What the channel demands of its upstream's TLS.
    var options: TLSContext.Options {
        var options = TLSContext.Options()
        options.authorities = authorities
        options.addsSystemRoots = systemRoots == .trusted
        options.requiresTLS13 = minimum == .v1_3
        options.certificate = clientCertificate?.certificate
        options.key = clientCertificate?.key
        options.pins = pins
        options.enforcesPins = pinMode == .enforce
        return options
    }
}

extension ChannelConfiguration {
    /// Whether requests get anything from the channel that an app could not send itself: a credential,
    /// a secret field, or a client certificate.
    var hasCredential: Bool {
        !credentials.isEmpty || !headers.secrets.isEmpty || proxy?.login != nil
            || tls.clientCertificate != nil
            || (headers.set + headers.defaults).contains { field in
                HTTPFieldName(field.name)?.holdsCredential == true
            }
    }

    /// The fields that carry credentials of the channel's, which no app may nominate for removal and
    /// whose values are never shown.
    var credentialFields: [HTTPFieldName] {
        var names = headers.secrets.map(\.name)
        if let name = placement?.fieldName, HTTPFieldName(name) != .authorization {
            names.append(name)
        }
        return names.compactMap { HTTPFieldName($0) }
    }
}

extension ChannelConfiguration {
    /// Where the credential goes; `nil` without one.
    var credentialPlace: CredentialPlace? {
        switch placement {
        case .header(let name, let prefix):
            HTTPFieldName(name).map { .header($0, prefix: prefix) }
        case .query(let name, let prefix): .query(name, prefix: prefix)
        case .path(let prefix):
            // A stub has no upstream, and so no place.
            PathTemplate(upstreams.first?.basePath ?? "").map { .path(in: $0, prefix: prefix) }
        case nil: nil
        }
    }
}

extension HeaderRules {
    /// The fields whose values are kept elsewhere.
    ///
    /// - Throws: an error that names a field whose value is unfit for one.
    func secretFields(_ inputs: ChannelInputs) throws(IOError) -> [HTTPField] {
        var fields: [HTTPField] = []
        for secret in secrets {
            guard let name = HTTPFieldName(secret.name), let value = inputs.secrets[secret.value],
                let field = HTTPField(name, value.reveal())
            else {
                throw .system(
                    "headers.secret.\(secret.name): the value is not valid in a header field, such as "
                        + "because of leading or trailing spaces"
                )
            }
            fields.append(field)
        }
        return fields
    }
}
