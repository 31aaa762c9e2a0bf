import NetproxySettings

/// Tokens from an OAuth 2.0 server.
struct OAuthKind: CredentialKind {
    static let key = Key("oauth", OAuthKeys.self)

    var key: any DeclaredKey { Self.key }
    var sharesTokens: Bool { true }

    func read(_ section: Section<CredentialKeys>) -> OAuthSettings? {
        OAuthReader(section: section[Self.key], allowInsecure: section.allowInsecure).settings()
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
    func check(_ settings: OAuthSettings, with configured: TLSDemands, at tls: Slot) {
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

extension OAuthSettings: CredentialSettings {
    package var label: String {
        let server = tokenURL.map { "\($0.origin)" } ?? "the issuer"
        return "the \(grant.rawValue) grant at \(server)"
    }

    package var secretReferences: [SecretReference] {
        var references = [clientSecret, proxy?.login?.password]
        for case .secret(let field) in tokenFields { references.append(field.value) }
        if grant == .refreshToken { references.append(refreshToken) }
        return references.compactMap { $0 }
    }

    package var documentReferences: [SecretReference] {
        var references = [clientKey?.key, proofKey]
        switch assertion?.signer {
        case .key(let reference, _), .serviceAccount(let reference): references.append(reference)
        case nil: break
        }
        return references.compactMap { $0 }
    }

    package var companionFields: [CompanionField] {
        proofKey == nil ? [] : [CompanionField(name: "DPoP", key: "auth.oauth.dpop_key")]
    }
}

extension CredentialConfiguration {
    /// The OAuth settings; nil for another kind.
    package var oauth: OAuthSettings? { authentication.settings(OAuthSettings.self) }
}
