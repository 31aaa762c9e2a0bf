/// Reads the credentials of a channel: its own, or the identities that it names.
struct CredentialReader {
    let channel: Section<ChannelKey>
    let name: String
    let identities: IdentityDirectory
    let authentication: AuthenticationReader

    private var reading: Reading { channel.reading }
    private var section: Section<AuthenticationKey> { authentication.section }

    init(_ channel: Section<ChannelKey>, name: String, identities: IdentityDirectory) {
        self.channel = channel
        self.name = name
        self.identities = identities
        let isMap = !channel.isOff(.auth) && channel[.auth]?.items == nil
        authentication = AuthenticationReader(
            section: isMap
                ? channel.section(.auth, AuthenticationKey.self)
                : Section(nil, path: channel.path, position: channel.position, in: channel.reading)
        )
    }

    /// The credentials in their order, and where they go.
    func credentials(_ tls: UpstreamTLS) -> ([CredentialConfiguration], CredentialPlacement?) {
        let own = authentication.authentication()
        if let list = [channel[.auth], section[.identity]].first(where: {
            $0?.items?.isEmpty == true
        }) ?? nil {
            reading.report(
                "expected at least one identity; for no credential, write auth: off",
                at: list
            )
        }
        let named = names.compactMap { identities.use($0, in: reading) }
        if names.isEmpty { refuseNarrowing() }
        guard own == .none else {
            let credential = CredentialConfiguration(
                owner: .channel(name),
                authentication: own,
                allowInsecure: section.flag(.allowInsecure, default: false),
                tls: tls
            )
            return ([credential], authentication.placement(of: own))
        }
        checkRepetition()
        return (named.map { narrowed($0.identity.credential) }, placement(of: named))
    }

    /// The names of identities: `auth: [work, spare]`, `auth: { identity: work }`, or a list there.
    private var names: [ConfigNode] {
        if let items = channel[.auth]?.items { return items }
        guard let node = section[.identity] else { return [] }
        return node.items ?? [node]
    }

    private func checkRepetition() {
        var seen: Set<String> = []
        for node in names {
            guard let text = node.text, !seen.insert(text).inserted else { continue }
            reading.report("the identity '\(text)' is named twice", at: node)
        }
    }

    // MARK: - Asking for less

    private func refuseNarrowing() {
        for key in AuthenticationKey.narrowing where section[key] != nil {
            reading.report(
                "\(key.rawValue) belongs into oauth; here it goes with an identity only",
                at: section.place(of: key)
            )
        }
    }

    /// What the channel gets of an identity's credential.
    private func narrowed(_ credential: CredentialConfiguration) -> CredentialConfiguration {
        guard AuthenticationKey.narrowing.contains(where: { section[$0] != nil }) else {
            return credential
        }
        guard case .oauth(var settings) = credential.authentication else {
            for key in AuthenticationKey.narrowing where section[key] != nil {
                reading.report(
                    "the identity \(credential.name) has no oauth, so it cannot ask for less",
                    at: section.place(of: key)
                )
            }
            return credential
        }
        guard settings.grant != .githubApp else {
            for key in AuthenticationKey.narrowing where section[key] != nil {
                reading.report(
                    "the identity \(credential.name) has the grant github_app, which repositories and "
                        + "permissions limit",
                    at: section.place(of: key)
                )
            }
            return credential
        }
        if section[.scopes] != nil { settings.scopes = scopes(within: settings, credential.name) }
        if let audience = section.text(.audience) { settings.audience = audience }
        if section[.resource] != nil {
            settings.resources = section.list(
                .resource,
                of: "an absolute URI without fragment, such as https://api.example.com"
            ) { TextRules.isResource($0) ? $0 : nil }
        }
        var narrowed = credential
        narrowed.isNarrowed = .oauth(settings) != credential.authentication
        narrowed.authentication = .oauth(settings)
        return narrowed
    }

    /// A channel asks for less: a refresh brings no more than what was signed in for (RFC 6749 §6), and a
    /// client's own token is bounded by what the identity says.
    private func scopes(within settings: OAuthSettings, _ identity: String) -> [String] {
        let scopes = section.list(.scopes, of: "a scope without spaces") {
            TextRules.isScope($0) ? $0 : nil
        }
        let beyond = scopes.filter { !settings.scopes.contains($0) }
        if !settings.scopes.isEmpty, let first = beyond.first {
            reading.report(
                "the scope \(first) is not among those of identity \(identity), and a channel may ask "
                    + "for less only; add it to identities.\(identity).oauth.scopes",
                at: section.place(of: .scopes)
            )
        }
        return scopes
    }

    // MARK: - Where they go

    private func placement(of entries: [IdentityDirectory.Entry]) -> CredentialPlacement? {
        // What is wrong with an identity is reported where it is.
        let entries = entries.filter { $0.identity.credential.authentication != .none }
        guard let first = entries.first else { return nil }
        if authentication.hasPlace {
            if let other = entries.first(where: \.hasPlace) {
                let key = AuthenticationKey.places.first { section[$0] != nil } ?? .location
                reading.report(
                    "the identity \(other.identity.name) says where its credential goes; say it there "
                        + "or here",
                    at: section.place(of: key)
                )
            }
            let places = entries.map {
                authentication.placement(of: $0.identity.credential.authentication)
            }
            return places.first ?? nil
        }
        for other in entries where other.identity.placement != first.identity.placement {
            reading.report(
                "the identities of a channel put their credentials into one place, and \(other.identity.name) "
                    + "has another than \(first.identity.name)",
                at: channel.place(of: .auth)
            )
        }
        return first.identity.placement
    }
}

extension OAuthSettings.Grant {
    /// Whether tokens come from a refresh token, and so from a sign-in.
    package var presentsRefreshTokens: Bool {
        switch self {
        case .refreshToken, .authorizationCode, .deviceCode: true
        case .clientCredentials, .jwtBearer, .tokenExchange, .githubApp, .byName: false
        }
    }
}
