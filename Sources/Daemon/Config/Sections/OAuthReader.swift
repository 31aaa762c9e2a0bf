import NetproxyHTTPMessage

/// Reads how a channel gets its tokens, and checks that all keys required by the grant are present.
struct OAuthReader {
    let section: Section<OAuthKey>
    let allowsInsecure: Bool

    func settings() -> OAuthSettings? {
        let grant = grant()
        let authentication = authentication(for: grant)
        let installation = InstallationReader(oauth: section).installation(for: grant)
        let grants = GrantReader(oauth: section)
        let discovery = DiscoveryReader(section: section)
        let proxy = section.proxy(.proxy)
        let settings = OAuthSettings(
            grant: grant,
            discovery: discovery.discovery(),
            issuer: issuer(proxy),
            tokenURL: endpoint(.tokenURL, proxy)
                ?? installation.flatMap(InstallationReader.url),
            authorizationURL: endpoint(.authorizationURL, proxy),
            deviceURL: endpoint(.deviceURL, proxy),
            revocationURL: endpoint(.revocationURL, proxy),
            pushedURL: endpoint(.pushedURL, proxy),
            redirect: redirect(),
            clientID: section.text(.clientID) ?? "",
            clientSecret: section.secret(.clientSecret),
            clientAuthentication: authentication,
            clientKey: grants.clientKey(for: authentication),
            proofKey: section.secret(.proofKey, as: Mention.Resource.signingKey),
            assertion: grants.assertion(for: grant),
            exchange: grants.exchange(for: grant),
            refreshToken: section.secret(.refreshToken),
            scopes: section.list(.scopes, of: "a scope without spaces", bound: scopeList) {
                TextRules.isScope($0) ? $0 : nil
            },
            audience: section.text(.audience),
            resources: section.list(
                .resource,
                of: "an absolute URI without fragment, such as https://api.example.com"
            ) { TextRules.isResource($0) ? $0 : nil },
            parameters: parameters(.parameters, of: grant),
            authorizationParameters: parameters(.authorizationParameters, of: grant),
            tokenFields: tokenFields(authentication),
            grantExtension: grantExtension(grant),
            installation: installation,
            use: section.choice(.use, default: .accessToken),
            refreshBefore: section.duration(.refreshBefore, atLeast: .zero, default: .seconds(300)),
            proxy: proxy
        )
        if settings.discovery != nil { discovery.check(grant) }
        checkNeeds(of: settings)
        return settings
    }

    private func authentication(
        for grant: OAuthSettings.Grant
    ) -> OAuthSettings.ClientAuthentication {
        switch grant {
        // The app's own token is signed with its key.
        case .githubApp: .privateKeyJWT
        // The assertion identifies the client: RFC 7523 §3.1 makes client authentication optional.
        case .jwtBearer: section.choice(.clientAuthentication, default: .none)
        // A client that is found out at the sign-in has a secret only if the configuration gives it one.
        case _ where DiscoveryReader.isOn(in: section) && section.lacks(.clientSecret):
            section.choice(.clientAuthentication, default: .none)
        default: section.choice(.clientAuthentication, default: .basic)
        }
    }

    /// What is expected instead of several scopes in one text, as requests write them.
    private func scopeList(_ text: String) -> String? {
        let scopes = text.split(separator: " ").map(String.init)
        guard section[.scopes]?.items == nil, scopes.count > 1, scopes.allSatisfy(TextRules.isScope)
        else { return nil }
        return "a list, [\(scopes.joined(separator: ", "))]"
    }

    /// The grant; one that is only given by its own name is an extension.
    private func grant() -> OAuthSettings.Grant {
        let usual: OAuthSettings.Grant =
            DiscoveryReader.isOn(in: section) ? .authorizationCode : .clientCredentials
        let grant = section.choice(.grant, default: usual)
        return grant == .clientCredentials && section[.grantType] != nil ? .byName : grant
    }

    private func grantExtension(_ grant: OAuthSettings.Grant) -> OAuthSettings.GrantExtension? {
        guard grant == .byName else {
            if let node = section[.grantType] {
                section.reading.report("used only by the grant extension", at: node)
            }
            return nil
        }
        if section[.grantType] == nil {
            section.require(.grantType, "required for the grant extension")
        }
        let expected =
            "a grant type that no other grant presents, such as account_credentials or a URI"
        let type = section.value(.grantType, expected: expected) { text in
            let isOwn = Self.ownGrantTypes.contains(text)
            return TextRules.isScope(text) && !isOwn ? text : nil
        }
        let secrets = entries(of: .parameters).compactMap { entry in
            entry.value.text.flatMap(SecretReference.init(text:)).map { reference in
                section.reading.mention(.secret(reference), at: entry.value)
                return HeaderSecret(name: entry.key, value: reference)
            }
        }
        return type.map { OAuthSettings.GrantExtension(type: $0, secrets: secrets) }
    }

    private func tokenFields(
        _ authentication: OAuthSettings.ClientAuthentication
    ) -> [OAuthSettings.TokenField] {
        let isBasic = [.basic, .basicRaw].contains(authentication)
        return HeaderRulesReader.named(section[.tokenHeaders], in: section.reading) { name, value in
            let basic = isBasic ? ["authorization"] : []
            let taken = ["content-type", "accept-encoding", "dpop"] + basic
            guard !taken.contains(name.lowercased()) else {
                section.reading.report("netproxy sets \(name) itself in token requests", at: value)
                return nil
            }
            if let reference = value.text.flatMap(SecretReference.init(text:)) {
                section.reading.mention(.fieldValue(reference, after: ""), at: value)
                return .secret(HeaderSecret(name: name, value: reference))
            }
            // Not `found`: a value may be a credential.
            guard let text = value.text, Grammar.isFieldValue(text) else {
                section.reading.report(
                    "expected a header value without control characters or leading or trailing spaces",
                    at: value
                )
                return nil
            }
            return .text(HeaderField(name: name, value: text))
        }
    }

    private func redirect() -> RedirectURI {
        let expected =
            "http://127.0.0.1, http://[::1] or http://localhost, with a port or without, "
            + "and a path without query"
        return section.value(.redirectURI, expected: expected, parse: RedirectURI.init) ?? .standard
    }

    /// The issuer is compared byte for byte, so its text is kept as it is.
    private func issuer(_ proxy: ProxySettings?) -> String? {
        guard let url = endpoint(.issuer, proxy), let text = section[.issuer]?.text else {
            return nil
        }
        guard !url.target.contains("?") else {
            section.reading.report(
                "an issuer must not have a query",
                at: section.place(of: .issuer)
            )
            return nil
        }
        return text
    }

    private func checkNeeds(of settings: OAuthSettings) {
        let authentication = settings.clientAuthentication
        var isServiceAccount = false
        if case .serviceAccount = settings.assertion?.signer { isServiceAccount = true }
        let isFound = settings.discovery != nil
        if section.lacks(.tokenURL), section.lacks(.issuer), !isServiceAccount, !isFound,
            settings.grant != .githubApp
        {
            section.require(.tokenURL, "token_url or issuer is required")
        }
        if section[.clientID] == nil, !isFound,
            settings.grant != .jwtBearer || authentication != .none
        {
            section.require(.clientID)
        }
        if [.basic, .basicRaw, .post].contains(authentication), section[.clientSecret] == nil {
            section.require(.clientSecret, "required, unless client_auth is none")
        }
        if authentication == .none, let node = section[.clientSecret] {
            section.reading.report("client_auth none does not use a secret", at: node)
        }
        if authentication == .basicRaw, settings.clientID.contains(":"),
            let node = section[.clientID]
        {
            section.reading.report(
                "a client_id with a colon cannot be sent with basic_raw, use basic or post",
                at: node
            )
        }
        if settings.use == .idToken, let node = section[.proofKey] {
            section.reading.report("an ID token cannot be bound to a key", at: node)
        }
        if !settings.grant.presentsRefreshTokens, let node = section[.refreshToken] {
            section.reading.report(
                "the grant \(settings.grant.rawValue) does not use a refresh token",
                at: node
            )
        }
        if isFound { return }
        if settings.grant == .authorizationCode {
            needsEndpoint(.authorizationURL, for: settings.grant)
        }
        if settings.grant == .deviceCode { needsEndpoint(.deviceURL, for: settings.grant) }
    }

    private func needsEndpoint(_ key: OAuthKey, for grant: OAuthSettings.Grant) {
        guard section.lacks(key), section.lacks(.issuer) else { return }
        section.require(key, "\(key.rawValue) or issuer is required for \(grant.rawValue)")
    }

    /// Every endpoint receives secrets or tokens, so each must be protected.
    private func endpoint(_ key: OAuthKey, _ proxy: ProxySettings?) -> EndpointURL? {
        guard let url = section.endpoint(key) else { return nil }
        if let exposure = url.origin.exposure(over: proxy), !allowsInsecure {
            section.reading.require(exposure, at: section.place(of: key))
        }
        return url
    }

    private func entries(of key: OAuthKey) -> [ConfigNode.Entry] {
        guard let node = section[key] else { return [] }
        guard let entries = node.entries else {
            section.reading.report("expected a map, found \(node.kind)", at: node)
            return []
        }
        // A null value removes a default.
        return entries.filter { !$0.value.isNull }
    }

    /// The parameters of token requests, or of the page where a user signs in.
    private func parameters(
        _ key: OAuthKey,
        of grant: OAuthSettings.Grant
    ) -> [OAuthSettings.Parameter] {
        let isExtension = grant == .byName && key == .parameters
        let own = isExtension ? Self.ownOfEveryGrant : Self.own
        return entries(of: key).compactMap { entry in
            guard !own.contains(entry.key) else {
                section.reading.report(
                    "netproxy sets \(entry.key) itself, use the key for it",
                    at: entry.place
                )
                return nil
            }
            guard let value = entry.value.text, !entry.key.isEmpty else {
                section.reading.report("expected a text", at: entry.value)
                return nil
            }
            // A secret is a part of the grant.
            if isExtension, SecretReference(text: value) != nil { return nil }
            return OAuthSettings.Parameter(name: entry.key, value: value)
        }
    }

    /// The grant types of the other grants, which have checks and rules of their own.
    private static let ownGrantTypes: Set<String> = [
        "client_credentials", "refresh_token", "authorization_code",
        "urn:ietf:params:oauth:grant-type:device_code",
        "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "urn:ietf:params:oauth:grant-type:token-exchange",
    ]

    /// The parameters that netproxy sends with any grant.
    private static let ownOfEveryGrant: Set<String> = [
        "grant_type", "client_id", "client_secret", "scope", "audience", "resource",
        "client_assertion", "client_assertion_type",
    ]

    /// The parameters that netproxy sends; a repeated parameter is an error (RFC 6749 §3.2).
    private static let own: Set<String> = [
        "grant_type", "client_id", "client_secret", "refresh_token", "scope", "audience",
        "resource", "code",
        "redirect_uri", "code_verifier", "device_code", "assertion", "client_assertion",
        "client_assertion_type", "subject_token", "subject_token_type", "actor_token",
        "actor_token_type", "requested_token_type", "response_type", "state", "code_challenge",
        "code_challenge_method", "dpop_jkt",
    ]
}
