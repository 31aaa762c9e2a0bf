import ProxyConfig

extension ChannelConfiguration {
    /// What a person does who must sign in to the channel.
    ///
    /// Where no page and no device endpoint is known there is only the refresh token of the
    /// configuration.
    var signIn: String {
        if case .oauth(let settings) = authentication, settings.refreshToken != nil,
            settings.issuer == nil, settings.authorizationURL == nil, settings.deviceURL == nil
        {
            return "put another token where auth.oauth.refresh_token says, then netproxy reload"
        }
        return "netproxy login \(name)"
    }
}
