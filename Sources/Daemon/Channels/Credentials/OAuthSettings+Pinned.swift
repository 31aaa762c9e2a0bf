import NetproxyConfig
import NetproxyPath
import NetproxySettings
import OAuth

extension OAuthSettings {
    /// Returns the settings with unconfigured values filled in from a sign-in's discovery.
    func resolved(by server: PinnedServer) -> OAuthSettings {
        var settings = self
        settings.issuer = server.issuer
        // Servers from before RFC 8707 was required may refuse the parameter.
        settings.resources = server.evidence == .resource ? [server.resource] : []
        settings.scopes = server.scopes
        guard settings.clientID.isEmpty else { return settings }
        settings.clientID = server.client.id
        settings.clientAuthentication = ClientAuthentication(server.client.authentication)
        if let redirect = server.client.redirect.flatMap(RedirectURI.init) {
            settings.redirect = redirect
        }
        return settings
    }
}

extension ClientAuthentication {
    fileprivate init(_ authentication: PinnedServer.Client.Authentication) {
        self =
            switch authentication {
            case .none: .none
            case .basic: .basic
            case .post: .post
            }
    }
}

extension PinnedServer {
    /// Whether the server's resource is a channel's, so that its tokens may be sent there, and whether the
    /// server is the configured one, if any, so that the client's secret may be sent to it.
    func isOf(_ channel: ChannelConfiguration) -> Bool {
        let configured = channel.credentials.first?.oauth?.issuer
        return ServerEndpoint(resource).map { ProtectedResource.covers(channel.endpoint, $0) }
            == true
            && configured.map(issuer.isSameIssuer) ?? true
    }
}
