/// Tokens from an OAuth 2.0 server.
struct OAuthKind: CredentialKind {
    static let key = Key("oauth", OAuthKeys.self)

    var key: any DeclaredKey { Self.key }
    var sharesTokens: Bool { true }

    func read(_ section: Section<CredentialKeys>) -> OAuthSettings? {
        OAuthReader(section: section[Self.key], allowInsecure: section.allowInsecure).settings()
    }

    func authentication(_ settings: OAuthSettings) -> Authentication { .oauth(settings) }

    func settings(of authentication: Authentication) -> OAuthSettings? {
        if case .oauth(let settings) = authentication { settings } else { nil }
    }

    func label(_ settings: OAuthSettings) -> String {
        let server = settings.tokenURL.map { "\($0.origin)" } ?? "the issuer"
        return "the \(settings.grant.rawValue) grant at \(server)"
    }

    func secrets(_ settings: OAuthSettings) -> [SecretReference] {
        var references = [settings.clientSecret, settings.proxy?.login?.password]
        for case .secret(let field) in settings.tokenFields { references.append(field.value) }
        if settings.grant == .refreshToken { references.append(settings.refreshToken) }
        return references.compactMap { $0 }
    }

    func documents(_ settings: OAuthSettings) -> [SecretReference] {
        var references = [settings.clientKey?.key, settings.proofKey]
        switch settings.assertion?.signer {
        case .key(let reference, _), .serviceAccount(let reference): references.append(reference)
        case nil: break
        }
        return references.compactMap { $0 }
    }

    func companionFields(_ settings: OAuthSettings) -> [CompanionField] {
        settings.proofKey == nil ? [] : [CompanionField(name: "DPoP", key: "auth.oauth.dpop_key")]
    }

    func place(
        _ settings: OAuthSettings,
        by placement: PlacementReader
    ) -> CredentialPlacement? {
        let place = placement.placement()
        if settings.proofKey != nil, place != .header(name: "Authorization", prefix: nil) {
            let section = placement.section
            (section.places.first(where: \.isWritten) ?? section.location).report(
                "a token bound to dpop_key goes into Authorization (RFC 9449); remove this, or dpop_key"
            )
        }
        return place
    }

    func check(_ settings: OAuthSettings, in use: CredentialUse) {
        // A DPoP proof contains the URL of the request, which failover would change.
        if settings.proofKey != nil, use.upstreams.count > 1 {
            use.slot(\.proofKey, of: Self.key).report(
                "tokens cannot be bound to a key where the channel has more than one upstream"
            )
        }
        guard settings.discovery != nil else { return }
        // The upstream's URL identifies the server: there must be exactly one.
        let slot = use.section[Self.key].discover
        if use.upstreams.count > 1 {
            slot.report("the server cannot be found by more than one upstream")
        } else if use.upstreams.isEmpty, use.stub.isWritten {
            slot.reading.require("the server cannot be found without an upstream", at: slot.place)
        }
        if case .path = use.placement {
            slot.report("the server cannot be found by a URL that holds a credential")
        }
    }

    /// Checks that tokens bound to a certificate have a client certificate.
    ///
    /// Such a token is valid only with that certificate (RFC 8705 §3), so the token endpoint receives the
    /// same one as the API.
    func check(_ settings: OAuthSettings, with configured: UpstreamTLS, at tls: Slot) {
        guard settings.clientAuthentication == .tls, configured.clientCertificate == nil else {
            return
        }
        tls.reading.require(
            "required for client_auth tls",
            at: Place(position: tls.position, key: "\(tls.path).client_certificate")
        )
    }

    func checkIdentity(_ settings: OAuthSettings, _ section: Section<CredentialKeys>) {
        guard settings.discovery != nil else { return }
        section[Self.key].discover.report(
            "goes with a channel's own oauth: its upstream says what the server is"
        )
    }
}
