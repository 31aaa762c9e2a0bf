import NetproxyConfig
import NetproxyPath
import OAuth

extension OAuthSettings {
    /// The settings with what a sign-in has found in the place of what is not configured.
    func resolved(by server: PinnedServer) -> OAuthSettings {
        var settings = self
        settings.issuer = server.issuer
        settings.resources = [server.resource]
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

extension OAuthSettings.ClientAuthentication {
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
    /// Whether its resource is that of a channel, so that its tokens may go there.
    func isOf(_ channel: ChannelConfiguration) -> Bool {
        ServerEndpoint(resource).map { ProtectedResource.covers(channel.endpoint, $0) } ?? false
    }
}
