/// Reads how a channel gets its tokens, and checks that all keys required by the grant are present.
struct OAuthReader {
    let section: Section<OAuthKey>
    let allowsInsecure: Bool

    func settings() -> OAuthSettings? {
        let grant = section.choice(.grant, default: OAuthSettings.Grant.clientCredentials)
        // The assertion identifies the client: RFC 7523 §3.1 makes client authentication optional.
        let authentication = section.choice(
            .clientAuthentication,
            default: grant == .jwtBearer ? OAuthSettings.ClientAuthentication.none : .basic
        )
        let grants = GrantReader(oauth: section)
        let proxy = section.proxy(.proxy)
        let settings = OAuthSettings(
            grant: grant,
            issuer: issuer(proxy),
            tokenURL: endpoint(.tokenURL, proxy),
            authorizationURL: endpoint(.authorizationURL, proxy),
            deviceURL: endpoint(.deviceURL, proxy),
            revocationURL: endpoint(.revocationURL, proxy),
            redirect: redirect(),
            clientID: section.text(.clientID) ?? "",
            clientSecret: section.secret(.clientSecret),
            clientAuthentication: authentication,
            clientKey: grants.clientKey(for: authentication),
            proofKey: section.secret(.proofKey, as: Mention.Resource.signingKey),
            assertion: grants.assertion(for: grant),
            exchange: grants.exchange(for: grant),
            refreshToken: section.secret(.refreshToken),
            scopes: section.list(.scopes, of: "a scope without spaces") {
                TextRules.isScope($0) ? $0 : nil
            },
            audience: section.text(.audience),
            resources: section.list(
                .resource,
                of: "an absolute URI without fragment, such as https://api.example.com"
            ) { TextRules.isResource($0) ? $0 : nil },
            parameters: parameters(),
            refreshBefore: section.duration(.refreshBefore, atLeast: .zero, default: .seconds(300)),
            proxy: proxy
        )
        checkNeeds(of: settings)
        return settings
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
        if section[.tokenURL] == nil, section[.issuer] == nil, !isServiceAccount {
            section.require(.tokenURL, "token_url or issuer is required")
        }
        if section[.clientID] == nil, settings.grant != .jwtBearer || authentication != .none {
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
        let presentsRefreshTokens: [OAuthSettings.Grant] = [
            .refreshToken, .authorizationCode, .deviceCode,
        ]
        if !presentsRefreshTokens.contains(settings.grant), let node = section[.refreshToken] {
            section.reading.report(
                "the grant \(settings.grant.rawValue) does not use a refresh token",
                at: node
            )
        }
        if settings.grant == .authorizationCode {
            needsEndpoint(.authorizationURL, for: settings.grant)
        }
        if settings.grant == .deviceCode { needsEndpoint(.deviceURL, for: settings.grant) }
    }

    private func needsEndpoint(_ key: OAuthKey, for grant: OAuthSettings.Grant) {
        guard section[key] == nil, section[.issuer] == nil else { return }
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

    private func parameters() -> [OAuthSettings.Parameter] {
        guard let node = section[.parameters] else { return [] }
        guard let entries = node.entries else {
            section.reading.report("expected a map, found \(node.kind)", at: node)
            return []
        }
        // A null value removes a default.
        return entries.filter { !$0.value.isNull }.compactMap { entry in
            guard !Self.own.contains(entry.key) else {
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
            return OAuthSettings.Parameter(name: entry.key, value: value)
        }
    }

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
