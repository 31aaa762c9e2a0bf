import NetproxyHTTPMessage

extension Section<OAuthKeys> {
    /// Whether the upstream's URL identifies the server.
    var isDiscovered: Bool { self.discover.text == "true" }
}

/// Reads the settings that find a channel's authorization server by the URL of its upstream, and checks that
/// nothing contradicts them.
struct DiscoveryReader {
    let section: Section<OAuthKeys>
    /// The additional fields of token requests.
    let tokenFields: [OAuthSettings.TokenField]

    /// Returns the settings known before the discovery, or nil without `discover: true`.
    func discovery() -> OAuthSettings.Discovery? {
        guard section[\.discover] else {
            section.clientMetadataURL.refuse("used only with discover: true")
            return nil
        }
        let found = [
            section.tokenURL, section.refreshURL, section.authorizationURL, section.deviceURL,
            section.revocationURL, section.pushedURL, section.resource,
        ]
        for slot in found { slot.refuse("discover finds it; remove this, or discover") }
        section.refreshToken.refuse("discover needs a sign-in, which brings one")
        if !section.clientID.isWritten {
            let client = [section.clientSecret, section.clientAuthentication, section.clientKey]
            for slot in client {
                slot.refuse("needs client_id; without one, netproxy registers a client")
            }
        }
        requireIssuer()
        return OAuthSettings.Discovery(clientMetadataURL: clientMetadataURL())
    }

    /// Requires the issuer that the client's secrets belong to.
    ///
    /// The upstream names a server at the sign-in, which must not get the secrets of another one
    /// (RFC 9700 §4.4).
    private func requireIssuer() {
        let hasSecretField = tokenFields.contains {
            if case .secret = $0 { true } else { false }
        }
        let hasClient = section.clientID.isWritten
        let hasSecret = section.clientSecret.isWritten || section.clientKey.isWritten
        guard hasClient && hasSecret || hasSecretField else { return }
        section.issuer.requireWritten(
            "required beside discover with client_secret, client_key or a secret in token_headers: the "
                + "server that may receive them"
        )
    }

    /// Checks that a user can sign in with a grant.
    func check(_ grant: OAuthSettings.Grant) {
        guard ![.authorizationCode, .deviceCode].contains(grant) else { return }
        (section.grant.isWritten ? section.grant : section.grantType).report(
            "discover signs a user in: expected authorization_code or device_code"
        )
    }

    /// Returns the URL as written, because it is the client ID.
    private func clientMetadataURL() -> String? {
        guard let url = section[\.clientMetadataURL] else { return nil }
        let slot = section.clientMetadataURL
        guard url.origin.scheme == .https, url.target != "/", !url.target.contains("?") else {
            slot.report("expected an https URL with a path and without a query")
            return nil
        }
        if section.clientID.isWritten { slot.report("client_id is set; remove one of them") }
        return slot.text
    }
}
