import NetproxySettings

struct ClientKeyKeys: SectionKeys {
    static let table = KeyTable(Self())

    let key = Key("key", .secret { .signingKey($0) })
    let id = Key("id", .text)
    let audience = Key("audience", .text)
}

struct AssertionKeys: SectionKeys {
    static let table = KeyTable(Self())

    let key = Key("key", .secret { .signingKey($0) })
    let id = Key("id", .text)
    let issuer = Key("issuer", .text)
    let subject = Key("subject", .text)
    let audience = Key("audience", .text)
    let serviceAccount = Key("service_account", .secret { .serviceAccount($0) })
}

struct TokenExchangeKeys: SectionKeys {
    static let table = KeyTable(Self())

    let subjectToken = Key("subject_token", .secret)
    let subjectTokenType = Key("subject_token_type", .text, default: .accessToken)
    let actorToken = Key("actor_token", .secret)
    let actorTokenType = Key("actor_token_type", .text, default: .accessToken)
    let requestedTokenType = Key("requested_token_type", .text)
}

extension Preset {
    /// The type of an access token (RFC 8693 §3).
    fileprivate static let accessToken: Preset = "urn:ietf:params:oauth:token-type:access_token"
}

/// Reads the keys and tokens that only some grants and client authentications use.
struct GrantReader {
    let oauth: Section<OAuthKeys>

    /// Returns the key of client assertions.
    func clientKey(
        for authentication: ClientAuthentication
    ) -> OAuthSettings.ClientKey? {
        let user = "client_auth private_key_jwt"
        guard authentication == .privateKeyJWT else { return refuse(oauth.clientKey, usedBy: user) }
        guard isPresent(oauth.clientKey, for: user) else { return nil }
        let section = oauth[\.clientKey]
        section.key.requireWritten()
        let isApp = oauth.grant.text == OAuthSettings.Grant.githubApp.rawValue
        if isApp { section.audience.refuse("the grant github_app does not use audience") }
        if oauth.issuer.isMissing, !isApp, !oauth.isDiscovered {
            section.audience.requireWritten("required if there is no issuer")
        }
        let (key, id, audience) = (section[\.key], section[\.id], section[\.audience])
        return key.map { OAuthSettings.ClientKey(key: $0, id: id, audience: audience) }
    }

    /// Returns the assertion of a jwt_bearer grant.
    func assertion(for grant: OAuthSettings.Grant) -> OAuthSettings.Assertion? {
        let user = "the grant jwt_bearer"
        guard grant == .jwtBearer else { return refuse(oauth.assertion, usedBy: user) }
        guard isPresent(oauth.assertion, for: user) else { return nil }
        let section = oauth[\.assertion]
        let (issuer, subject, audience) = (
            section[\.issuer], section[\.subject], section[\.audience]
        )
        return signer(in: section).map {
            OAuthSettings.Assertion(
                signer: $0,
                issuer: issuer,
                subject: subject,
                audience: audience
            )
        }
    }

    private func signer(in section: Section<AssertionKeys>) -> OAuthSettings.Assertion.Signer? {
        let (key, id, account) = (section[\.key], section[\.id], section[\.serviceAccount])
        switch (section.key.isWritten, section.serviceAccount.isWritten) {
        case (false, true): return account.map { .serviceAccount($0) }
        case (true, false):
            guard let key else { return nil }
            if oauth.clientID.isMissing {
                section.issuer.requireWritten("required if there is no client_id")
            }
            if oauth.issuer.isMissing {
                section.audience.requireWritten("required if there is no issuer")
            }
            return .key(key, id: id)
        case (false, false): section.key.require("key or service_account is required")
        case (true, true):
            section.serviceAccount.report("key and service_account cannot be used together")
        }
        return nil
    }

    /// Returns the tokens of a token_exchange grant.
    func exchange(for grant: OAuthSettings.Grant) -> OAuthSettings.TokenExchange? {
        let user = "the grant token_exchange"
        guard grant == .tokenExchange else { return refuse(oauth.exchange, usedBy: user) }
        guard isPresent(oauth.exchange, for: user) else { return nil }
        let section = oauth[\.exchange]
        section.subjectToken.requireWritten()
        let (subjectType, actorType) = (section[\.subjectTokenType], section[\.actorTokenType])
        let (actor, requested) = (section[\.actorToken], section[\.requestedTokenType])
        return section[\.subjectToken].map {
            OAuthSettings.TokenExchange(
                subjectToken: $0,
                subjectTokenType: subjectType,
                actorToken: actor,
                actorTokenType: actorType,
                requestedTokenType: requested
            )
        }
    }

    /// Reports a map that would have no effect; always returns nil.
    private func refuse<Value>(_ slot: Slot, usedBy user: String) -> Value? {
        slot.refuse("used only by \(user)")
        return nil
    }

    /// Whether a required map is present; reports a missing one.
    private func isPresent(_ slot: Slot, for user: String) -> Bool {
        slot.requireWritten("required for \(user)")
        return slot.isWritten
    }
}
