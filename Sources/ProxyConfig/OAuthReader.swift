/// Reads how a channel gets its tokens, and checks that the grant has what it needs.
struct OAuthReader {
    let section: Section<OAuthKey>
    let allowsInsecure: Bool

    func settings() -> OAuthSettings? {
        let grant = section.choice(.grant, default: OAuthSettings.Grant.clientCredentials)
        let authentication = section.choice(
            .clientAuthentication,
            default: OAuthSettings.ClientAuthentication.basic
        )
        let settings = OAuthSettings(
            grant: grant,
            issuer: endpoint(.issuer),
            tokenURL: endpoint(.tokenURL),
            clientID: section.text(.clientID) ?? "",
            clientSecret: section.secret(.clientSecret),
            clientAuthentication: authentication,
            refreshToken: section.secret(.refreshToken),
            scopes: section.list(.scopes, of: "a scope without blanks") {
                TextRules.isScope($0) ? $0 : nil
            },
            audience: section.text(.audience),
            parameters: parameters(),
            refreshBefore: section.duration(.refreshBefore, atLeast: .zero, default: .seconds(300))
        )
        checkNeeds(of: grant, authentication)
        return settings
    }

    private func checkNeeds(
        of grant: OAuthSettings.Grant,
        _ authentication: OAuthSettings.ClientAuthentication
    ) {
        if section[.tokenURL] == nil, section[.issuer] == nil {
            section.require(.tokenURL, "token_url or issuer is required")
        }
        if section[.clientID] == nil { section.require(.clientID) }
        if [.basic, .post].contains(authentication), section[.clientSecret] == nil {
            section.require(.clientSecret, "required, unless client_auth is none")
        }
        if grant == .clientCredentials, let node = section[.refreshToken] {
            section.reading.report("the grant client_credentials has no refresh token", at: node)
        }
    }

    /// Secrets and tokens travel to every endpoint, so each must be private.
    private func endpoint(_ key: OAuthKey) -> EndpointURL? {
        guard let url = section.endpoint(key) else { return nil }
        if url.scheme == .http, !url.isLoopback, !allowsInsecure {
            let place = section.place(of: key)
            section.reading.require(
                "would send credentials over http://, use https:// or set auth.allow_insecure: true",
                at: place.position,
                key: place.key
            )
        }
        return url
    }

    private func parameters() -> [OAuthSettings.Parameter] {
        guard let node = section[.parameters] else { return [] }
        guard let entries = node.entries else {
            section.reading.report("expected a map, found \(node.found)", at: node)
            return []
        }
        return entries.compactMap { entry in
            guard !Self.own.contains(entry.key) else {
                section.reading.report(
                    "netproxy itself sends \(entry.key), use the key for it",
                    at: entry.keyPosition,
                    key: entry.value.path
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

    /// What the engine writes; twice the same parameter is an error (RFC 6749 §3.2).
    private static let own: Set<String> = [
        "grant_type", "client_id", "client_secret", "refresh_token", "scope", "audience", "code",
        "redirect_uri", "code_verifier", "device_code", "assertion", "client_assertion",
        "client_assertion_type", "subject_token", "subject_token_type",
    ]
}
