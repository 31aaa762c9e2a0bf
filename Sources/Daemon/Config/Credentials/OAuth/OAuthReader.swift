import NetproxyHTTPMessage
import NetproxySettings

/// Reads the OAuth settings of a channel, and checks that all keys required by the grant are present.
struct OAuthReader {
    let section: Section<OAuthKeys>
    let allowInsecure: Slot

    func settings() -> OAuthSettings? {
        let (grant, installations) = (grant(), InstallationReader(oauth: section))
        let (authentication, proxy) = (authentication(for: grant), section[\.proxy])
        let installation = installations.installation(for: grant)
        let grants = GrantReader(oauth: section)
        let fields = tokenFields(authentication)
        let discovery = DiscoveryReader(section: section, tokenFields: fields)
        let parameters = ParameterReader(reading: section.reading, grant: grant)
        let settings = OAuthSettings(
            grant: grant,
            discovery: discovery.discovery(),
            issuer: issuer(proxy),
            tokenURL: endpoint(\.tokenURL, proxy) ?? installation.flatMap(InstallationReader.url),
            refreshURL: endpoint(\.refreshURL, proxy),
            requestFormat: section[\.requestFormat],
            responsePointers: OAuthSettings.pointers(section[\.response]),
            authorizationURL: endpoint(\.authorizationURL, proxy),
            deviceURL: endpoint(\.deviceURL, proxy),
            revocationURL: endpoint(\.revocationURL, proxy),
            pushedURL: endpoint(\.pushedURL, proxy),
            redirect: section[\.redirectURI],
            clientID: section[\.clientID] ?? "",
            clientSecret: section[\.clientSecret],
            clientAuthentication: authentication,
            clientKey: grants.clientKey(for: authentication),
            proofKey: section[\.proofKey],
            assertion: grants.assertion(for: grant),
            exchange: grants.exchange(for: grant),
            refreshToken: section[\.refreshToken],
            scopes: section[\.scopes],
            audience: section[\.audience],
            resources: section[\.resource],
            parameters: parameters.token(section[\.parameters]),
            authorizationParameters: parameters.authorization(section[\.authorizationParameters]),
            tokenFields: fields,
            grantExtension: grantExtension(grant, parameters),
            installation: installation,
            use: section[\.use],
            refreshBefore: section[\.refreshBefore],
            proxy: proxy
        )
        if settings.discovery != nil { discovery.check(grant) }
        OAuthNeeds(section: section, settings: settings).check()
        return settings
    }

    private func authentication(
        for grant: OAuthSettings.Grant
    ) -> ClientAuthentication {
        // The GitHub App signs its own token with its key.
        if grant == .githubApp { return .privateKeyJWT }
        // The assertion identifies the client: RFC 7523 §3.1 makes client authentication optional. A client
        // determined at the sign-in has a secret only if the configuration states one.
        let needsNone =
            grant == .jwtBearer || section.isDiscovered && section.clientSecret.isMissing
        return section[\.clientAuthentication] ?? (needsNone ? .none : .basic)
    }

    /// Returns the grant; a grant with only a `grant_type` is an extension.
    private func grant() -> OAuthSettings.Grant {
        let usual: OAuthSettings.Grant =
            section.isDiscovered ? .authorizationCode : .clientCredentials
        let grant = section[\.grant] ?? usual
        return grant == .clientCredentials && section.grantType.isWritten ? .byName : grant
    }

    private func grantExtension(
        _ grant: OAuthSettings.Grant,
        _ parameters: ParameterReader
    ) -> OAuthSettings.GrantExtension? {
        guard grant == .byName else {
            section.grantType.refuse("used only by the grant extension")
            return nil
        }
        section.grantType.requireWritten("required for the grant extension")
        let secrets = parameters.secrets(section[\.parameters])
        return section[\.grantType].map { .init(type: $0, secrets: secrets) }
    }

    private func tokenFields(
        _ authentication: ClientAuthentication
    ) -> [OAuthSettings.TokenField] {
        let isBasic = [.basic, .basicRaw].contains(authentication)
        for entry in section.tokenHeaders.node?.entries ?? []
        where isBasic && !entry.value.isNull && entry.key.lowercased() == "authorization" {
            section.reading.report(
                "netproxy sets \(entry.key) itself in token requests",
                at: entry.value
            )
        }
        return section[\.tokenHeaders]
    }

    /// Returns the issuer as written, because issuers are compared byte for byte.
    private func issuer(_ proxy: ProxySettings?) -> String? {
        guard let url = endpoint(\.issuer, proxy), let text = section.issuer.text else {
            return nil
        }
        guard !url.target.contains("?") else {
            section.issuer.report("an issuer must not have a query")
            return nil
        }
        return text
    }

    /// Returns a protected endpoint: every endpoint receives secrets or tokens.
    private func endpoint(
        _ key: KeyPath<OAuthKeys, Key<EndpointURL?>>,
        _ proxy: ProxySettings?
    ) -> EndpointURL? {
        let url = section[key]
        section[dynamicMember: key].checkExposure(of: url, over: proxy, unless: allowInsecure)
        return url
    }
}

/// The checks that all keys of a grant and a client authentication are present, and no others.
private struct OAuthNeeds {
    let section: Section<OAuthKeys>
    let settings: OAuthSettings

    private var isDiscovered: Bool { settings.discovery != nil }

    func check() {
        checkServer()
        checkClient()
        if settings.use == .idToken {
            section.proofKey.refuse("an ID token cannot be bound to a key")
        }
        if !settings.grant.presentsRefreshTokens {
            section.refreshToken.refuse(
                "the grant \(settings.grant.rawValue) does not use a refresh token"
            )
            section.refreshURL.refuse(
                "the grant \(settings.grant.rawValue) does not use a refresh token"
            )
        }
    }

    private func checkServer() {
        guard !isDiscovered else { return }
        var isServiceAccount = false
        if case .serviceAccount = settings.assertion?.signer { isServiceAccount = true }
        if section.tokenURL.isMissing, section.issuer.isMissing, !isServiceAccount,
            settings.grant != .githubApp
        {
            section.tokenURL.require("token_url or issuer is required")
        }
        switch settings.grant {
        case .authorizationCode: needs(section.authorizationURL)
        case .deviceCode: needs(section.deviceURL)
        default: break
        }
    }

    private func needs(_ endpoint: Slot) {
        guard endpoint.isMissing, section.issuer.isMissing else { return }
        endpoint.require(
            "\(endpoint.name) or issuer is required for \(settings.grant.rawValue)"
        )
    }

    private func checkClient() {
        let authentication = settings.clientAuthentication
        if !isDiscovered, settings.grant != .jwtBearer || authentication != .none {
            section.clientID.requireWritten()
        }
        switch authentication {
        case .basic, .basicRaw, .post:
            section.clientSecret.requireWritten("required, unless client_auth is none")
        case .none: section.clientSecret.refuse("client_auth none does not use a secret")
        case .privateKeyJWT, .tls: break
        }
        if authentication == .basicRaw, settings.clientID.contains(":") {
            section.clientID.refuse(
                "a client_id with a colon cannot be sent with basic_raw, use basic or post"
            )
        }
    }
}

extension OAuthSettings.TokenField {
    /// Reads a field of token requests: a text or a secret.
    init?(_ name: String, _ value: Slot) {
        guard !["content-type", "accept-encoding", "dpop"].contains(name.lowercased()) else {
            value.report("netproxy sets \(name) itself in token requests")
            return nil
        }
        if let reference = value.text.flatMap(SecretReference.init(text:)) {
            value.mention(.fieldValue(reference, after: ""))
            self = .secret(HeaderSecret(name: name, value: reference))
        } else if let field = HeaderFields.field(name, value) {
            self = .text(field)
        } else {
            return nil
        }
    }
}

extension OAuthSettings.Grant {
    /// Whether tokens come from a refresh token, and therefore from a sign-in.
    package var presentsRefreshTokens: Bool {
        switch self {
        case .refreshToken, .authorizationCode, .deviceCode: true
        case .clientCredentials, .jwtBearer, .tokenExchange, .githubApp, .byName: false
        }
    }
}
