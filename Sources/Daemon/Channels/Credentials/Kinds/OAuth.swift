package import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTPMessage
import NetproxyPath
import NetworkCore
import OAuth

extension OAuthSettings: CredentialProviding {
    package func credential(
        for _: ChannelConfiguration,
        in context: CredentialContext
    ) async throws -> RunningCredential {
        let client: OAuthClient
        do {
            client = try await context.oauthClients.client(
                self,
                of: context.credential,
                at: context.pinned
            )
        } catch let error as IOError {
            throw IOError.system("\(context.owner): \(error)")
        }
        let manager = OAuthManager(
            service: client.service,
            tokenStore: client.store,
            configuration: client.configuration,
            onEvent: context.onEvent
        )
        return RunningCredential(authorizer: manager, engine: manager)
    }

    /// Returns an attempt that never presents a refresh token, because a server that rotates it would
    /// invalidate the daemon's copy.
    package func trial(
        for channel: ChannelConfiguration?,
        in context: CredentialContext
    ) -> CredentialTrial? {
        let place = tokenURL.map { "\($0.origin)\($0.target)" } ?? issuer
        return CredentialTrial(subject: "token endpoint\(place.map { " \($0)" } ?? "")") {
            let clients = context.oauthClients
            var pinned: PinnedServer?
            if let channel { pinned = await clients.pinned(of: channel) }
            let client = try await clients.client(
                self,
                of: context.credential,
                for: .trial,
                at: pinned
            )
            if discovery != nil, pinned == nil {
                let name = context.credential.name
                return "not known yet; netproxy login \(name) finds it by the upstream"
            }
            guard let grant = try await client.harmlessGrant() else {
                return try await client.reached()
            }
            let response = try await client.service.tokens(
                for: grant,
                configuration: client.configuration,
                deadline: .now + CredentialTrial.limit
            )
            guard let lifetime = response.lifetime else { return "issued a token" }
            return "issued a token that is valid for \(lifetime.components.seconds) s"
        }
    }
}

extension OAuthClient {
    /// Returns a grant that uses up nothing, or `nil` if there is only a refresh token, which may be rotated.
    fileprivate func harmlessGrant() async throws -> TokenGrant? {
        switch configuration.grant {
        case .clientCredentials: .clientCredentials(scopes: configuration.scopes)
        case .provided(let provider):
            try await provider.grant(for: configuration, at: SystemClock().wallNow)
        case .refreshToken: nil
        }
    }

    /// Sends a request to the token endpoint and accepts any response.
    fileprivate func reached() async throws -> String {
        var endpoint = settings.tokenURL.map(ServerEndpoint.init)
        // Renewals need no metadata if the endpoint is configured.
        if endpoint == nil { endpoint = try await server(needing: \.tokenEndpoint).tokenEndpoint }
        guard let endpoint else {
            throw IOError.system("auth.oauth names no token endpoint: set token_url or issuer")
        }
        var context = RequestContext(requestID: "check")
        context.deadline = .now + CredentialTrial.limit
        let response = try await transport.send(
            Request(origin: endpoint.origin, target: endpoint.target),
            context: &context
        )
        return "answers (status \(response.status.rawValue)); no refresh token was presented"
    }
}
