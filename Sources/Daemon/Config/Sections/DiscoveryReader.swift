import NetproxyHTTPMessage

/// Reads how a channel finds its authorization server by the URL of its upstream, and checks that
/// nothing contradicts that.
struct DiscoveryReader {
    let section: Section<OAuthKey>

    /// Whether the server is found by the upstream.
    static func isOn(in section: Section<OAuthKey>) -> Bool {
        section[.discover]?.text == "true"
    }

    /// What is known beforehand; nil without `discover: true`.
    func discovery() -> OAuthSettings.Discovery? {
        guard section.flag(.discover, default: false) else {
            if let node = section[.clientMetadataURL] {
                section.reading.report("used only with discover: true", at: node)
            }
            return nil
        }
        for key in Self.foundKeys {
            guard let node = section[key] else { continue }
            section.reading.report("discover finds it; remove this, or discover", at: node)
        }
        if let node = section[.refreshToken] {
            section.reading.report("discover needs a sign-in, which brings one", at: node)
        }
        if section[.clientID] == nil {
            for key in Self.clientKeys {
                guard let node = section[key] else { continue }
                section.reading.report(
                    "needs client_id; without one, netproxy registers a client",
                    at: node
                )
            }
        }
        return OAuthSettings.Discovery(clientMetadataURL: clientMetadataURL())
    }

    /// Checks that a user can sign in with a grant.
    func check(_ grant: OAuthSettings.Grant) {
        guard ![.authorizationCode, .deviceCode].contains(grant) else { return }
        section.reading.report(
            "discover signs a user in: expected authorization_code or device_code",
            at: section.place(of: section[.grant] == nil ? .grantType : .grant)
        )
    }

    /// The URL is the client id, so its text is kept as it is.
    private func clientMetadataURL() -> String? {
        guard let url = section.endpoint(.clientMetadataURL) else { return nil }
        let place = section.place(of: .clientMetadataURL)
        guard url.origin.scheme == .https, url.target != "/", !url.target.contains("?") else {
            section.reading.report(
                "expected an https URL with a path and without a query",
                at: place
            )
            return nil
        }
        if section[.clientID] != nil {
            section.reading.report("client_id is set; remove one of them", at: place)
        }
        return section[.clientMetadataURL]?.text
    }

    private static let foundKeys: [OAuthKey] = [
        .issuer, .tokenURL, .authorizationURL, .deviceURL, .revocationURL, .pushedURL, .resource,
    ]
    private static let clientKeys: [OAuthKey] = [.clientSecret, .clientAuthentication, .clientKey]
}
