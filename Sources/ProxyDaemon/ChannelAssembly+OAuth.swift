import Bytes
import EventIO
import HTTPMessage
import NetworkCore
import OriginTransport
import ProxyConfig
import RequestLog

extension ChannelAssembly {
    /// What adds a channel's credential; nothing where it has none.
    ///
    /// - Throws: an error that names the channel and the key, for a secret that cannot be had or
    ///   that no field may hold.
    func authorizer(
        _ channel: ChannelConfiguration,
        _ log: ChannelLog
    ) async throws -> (any Authorizing)? {
        let made: StaticAuthorizer?
        let key: String
        switch channel.authentication {
        case .none, .exec: return nil
        case .oauth(let settings): return try await oauth(settings, of: channel, log: log)
        case .bearer(let reference):
            key = "bearer"
            made = StaticAuthorizer.bearer(try await secret(reference))
        case .basic(let username, let password):
            key = "basic"
            made = StaticAuthorizer.basic(
                username: username,
                password: try await secret(password)
            )
        case .header(let name, let value):
            key = "header"
            let secret = try await secret(value)
            made = HTTPFieldName(name).flatMap { StaticAuthorizer.header($0, secret) }
        }
        guard let made else {
            throw IOError.system(
                "channel \(channel.name): auth.\(key) is empty or holds bytes that no header may"
            )
        }
        return made
    }

    private func oauth(
        _ settings: OAuthSettings,
        of channel: ChannelConfiguration,
        log: ChannelLog
    ) async throws -> OAuthManager {
        let configuration = try await oauthConfiguration(settings, of: channel)
        try FileSystem.makeDirectory(stateDirectory, mode: 0o700)
        let name = channel.name
        let manager = OAuthManager(
            service: TokenEndpointClient(transport: try tokenTransport(channel)),
            tokenStore: FileTokenStore(directory: stateDirectory, family: name),
            configuration: configuration
        ) { [report] event in
            if let record = event.record { log.write(record) }
            if let line = event.line { report("channel \(name): \(line)") }
        }
        // Nobody waits for it: the first request does by itself, should it come before the end.
        Task { await manager.start() }
        return manager
    }

    private func oauthConfiguration(
        _ settings: OAuthSettings,
        of channel: ChannelConfiguration
    ) async throws -> OAuthConfiguration {
        guard let endpoint = settings.tokenURL else {
            throw IOError.system("channel \(channel.name): auth.oauth.token_url is missing")
        }
        var configuration = OAuthConfiguration(
            tokenEndpoint: OAuthConfiguration.TokenEndpoint(
                origin: Origin(
                    scheme: endpoint.scheme == .https ? .https : .http,
                    host: endpoint.host,
                    port: UInt16(clamping: endpoint.port)
                ),
                target: endpoint.target
            ),
            clientID: settings.clientID
        )
        if let reference = settings.clientSecret {
            configuration.clientSecret = try await secret(reference)
        }
        if settings.grant == .refreshToken {
            var initial: Secret?
            if let reference = settings.refreshToken { initial = try await secret(reference) }
            configuration.grant = .refreshToken(initial: initial)
        }
        configuration.clientAuthentication =
            switch settings.clientAuthentication {
            case .post: .post
            case .none: .none
            default: .basic
            }
        configuration.scopes = settings.scopes
        configuration.audience = settings.audience
        configuration.parameters = settings.parameters.map { FormParameter($0.name, $0.value) }
        configuration.refreshBefore = settings.refreshBefore
        return configuration
    }

    /// Token endpoints are trusted by the system's roots, or by the channel's own authority beside
    /// whose API they mostly are.
    private func tokenTransport(_ channel: ChannelConfiguration) throws -> any HTTPTransport {
        guard let authorities = channel.tls.authorities else { return tokens }
        var options = tokenOptions
        options.authorities = authorities
        return try PooledTransport(options: options, on: loop)
    }
}
