/// Reads the keys and tokens that some grants and client authentications need.
struct GrantReader {
    let oauth: Section<OAuthKey>

    /// The key of client assertions.
    func clientKey(
        for authentication: OAuthSettings.ClientAuthentication
    ) -> OAuthSettings.ClientKey? {
        guard isWanted(.clientKey, authentication == .privateKeyJWT, "client_auth private_key_jwt")
        else { return nil }
        let section = oauth.section(.clientKey, ClientKeyKey.self)
        let (id, audience) = (section.text(.id), section.text(.audience))
        if section[.key] == nil { section.require(.key) }
        if section[.audience] == nil, oauth[.issuer] == nil {
            section.require(.audience, "required, because there is no issuer to make it out to")
        }
        guard let key = section.secret(.key, as: Mention.Resource.signingKey) else { return nil }
        return OAuthSettings.ClientKey(key: key, id: id, audience: audience)
    }

    /// The assertion of a jwt_bearer grant.
    func assertion(for grant: OAuthSettings.Grant) -> OAuthSettings.Assertion? {
        guard isWanted(.assertion, grant == .jwtBearer, "the grant jwt_bearer") else { return nil }
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
            if section[.issuer] == nil, oauth[.clientID] == nil {
                section.require(.issuer, "required, because there is no client_id to be it")
            }
            if section[.audience] == nil, oauth[.issuer] == nil {
                section.require(.audience, "required, because there is no issuer to make it out to")
            }
        case (nil, nil):
            section.require(.key, "key or service_account is required")
            return nil
        case (.some, .some(let node)):
            section.reading.report("key and service_account exclude each other", at: node)
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
    func exchange(for grant: OAuthSettings.Grant) -> OAuthSettings.Exchange? {
        guard isWanted(.exchange, grant == .tokenExchange, "the grant token_exchange") else {
            return nil
        }
        let section = oauth.section(.exchange, ExchangeKey.self)
        let accessToken = "urn:ietf:params:oauth:token-type:access_token"
        let subjectType = section.text(.subjectTokenType) ?? accessToken
        let actorType = section.text(.actorTokenType) ?? accessToken
        let (actor, requested) = (section.secret(.actorToken), section.text(.requestedTokenType))
        if section[.subjectToken] == nil { section.require(.subjectToken) }
        guard let subject = section.secret(.subjectToken) else { return nil }
        return OAuthSettings.Exchange(
            subjectToken: subject,
            subjectTokenType: subjectType,
            actorToken: actor,
            actorTokenType: actorType,
            requestedTokenType: requested
        )
    }

    /// Whether a map is there as it should; says so where it is not, or is not of any use.
    private func isWanted(_ key: OAuthKey, _ isUsed: Bool, _ user: String) -> Bool {
        switch (oauth[key], isUsed) {
        case (.some(let node), false):
            oauth.reading.report("only \(user) uses it", at: node)
            return false
        case (nil, true):
            oauth.require(key, "required for \(user)")
            return false
        default: return isUsed
        }
    }
}
