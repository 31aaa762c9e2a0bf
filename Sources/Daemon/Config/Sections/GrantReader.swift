/// Reads the keys and tokens that only some grants and client authentications use.
struct GrantReader {
    let oauth: Section<OAuthKey>

    /// The key of client assertions.
    func clientKey(
        for authentication: OAuthSettings.ClientAuthentication
    ) -> OAuthSettings.ClientKey? {
        let user = "client_auth private_key_jwt"
        guard authentication == .privateKeyJWT else { return refuse(.clientKey, usedBy: user) }
        guard isPresent(.clientKey, for: user) else { return nil }
        let section = oauth.section(.clientKey, ClientKeyKey.self)
        let (id, audience) = (section.text(.id), section.text(.audience))
        if section[.key] == nil { section.require(.key) }
        let isApp = oauth[.grant]?.text == OAuthSettings.Grant.githubApp.rawValue
        if isApp, let node = section[.audience] {
            section.reading.report("the grant github_app does not use audience", at: node)
        }
        if section[.audience] == nil, oauth.lacks(.issuer), !isApp,
            !DiscoveryReader.isOn(in: oauth)
        {
            section.require(.audience, "required if there is no issuer")
        }
        guard let key = section.secret(.key, as: Mention.Resource.signingKey) else { return nil }
        return OAuthSettings.ClientKey(key: key, id: id, audience: audience)
    }

    /// The assertion of a jwt_bearer grant.
    func assertion(for grant: OAuthSettings.Grant) -> OAuthSettings.Assertion? {
        let user = "the grant jwt_bearer"
        guard grant == .jwtBearer else { return refuse(.assertion, usedBy: user) }
        guard isPresent(.assertion, for: user) else { return nil }
        let section = oauth.section(.assertion, AssertionKey.self)
        let (id, issuer) = (section.text(.id), section.text(.issuer))
        let (subject, audience) = (section.text(.subject), section.text(.audience))
        let key = section.secret(.key, as: Mention.Resource.signingKey)
        let account = section.secret(.serviceAccount, as: Mention.Resource.serviceAccount)
        let signer: OAuthSettings.Assertion.Signer
        switch (section[.key], section[.serviceAccount]) {
        case (nil, .some):
            guard let account else { return nil }
            signer = .serviceAccount(account)
        case (.some, nil):
            guard let key else { return nil }
            signer = .key(key, id: id)
            if section[.issuer] == nil, oauth.lacks(.clientID) {
                section.require(.issuer, "required if there is no client_id")
            }
            if section[.audience] == nil, oauth.lacks(.issuer) {
                section.require(.audience, "required if there is no issuer")
            }
        case (nil, nil):
            section.require(.key, "key or service_account is required")
            return nil
        case (.some, .some(let node)):
            section.reading.report("key and service_account cannot be used together", at: node)
            return nil
        }
        return OAuthSettings.Assertion(
            signer: signer,
            issuer: issuer,
            subject: subject,
            audience: audience
        )
    }

    /// The tokens of a token_exchange grant.
    func exchange(for grant: OAuthSettings.Grant) -> OAuthSettings.TokenExchange? {
        let user = "the grant token_exchange"
        guard grant == .tokenExchange else { return refuse(.exchange, usedBy: user) }
        guard isPresent(.exchange, for: user) else { return nil }
        let section = oauth.section(.exchange, TokenExchangeKey.self)
        let accessToken = "urn:ietf:params:oauth:token-type:access_token"
        let subjectType = section.text(.subjectTokenType) ?? accessToken
        let actorType = section.text(.actorTokenType) ?? accessToken
        let (actor, requested) = (section.secret(.actorToken), section.text(.requestedTokenType))
        if section[.subjectToken] == nil { section.require(.subjectToken) }
        guard let subject = section.secret(.subjectToken) else { return nil }
        return OAuthSettings.TokenExchange(
            subjectToken: subject,
            subjectTokenType: subjectType,
            actorToken: actor,
            actorTokenType: actorType,
            requestedTokenType: requested
        )
    }

    /// Reports a map that would have no effect; always returns nil.
    private func refuse<Value>(_ key: OAuthKey, usedBy user: String) -> Value? {
        if let node = oauth[key] { oauth.reading.report("used only by \(user)", at: node) }
        return nil
    }

    /// Whether a required map is present; reports a missing one.
    private func isPresent(_ key: OAuthKey, for user: String) -> Bool {
        if oauth[key] == nil { oauth.require(key, "required for \(user)") }
        return oauth[key] != nil
    }
}
