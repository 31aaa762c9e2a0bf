import NetworkCore

/// Renews the tokens of a client that its server has registered, and may forget.
///
/// A refresh token is good for its own client only. When the server does not know that client any more,
/// nothing but another sign-in helps, which registers another one: the refresh token counts as dead.
package struct RegisteredClientService: OAuthService {
    private let service: any OAuthService

    /// Wraps the service that presents the grants.
    package init(over service: any OAuthService) {
        self.service = service
    }

    package var clockOffset: Duration { service.clockOffset }
    package var issuer: String? { service.issuer }

    package func tokens(
        for grant: TokenGrant,
        configuration: OAuthConfiguration,
        deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> TokenResponse {
        do {
            return try await service.tokens(
                for: grant,
                configuration: configuration,
                deadline: deadline
            )
        } catch {
            guard grant.refreshToken != nil, error.kind == .configuration,
                error.serverError == "invalid_client"
            else { throw error }
            var failure = TokenFailure(.invalidGrant, detail: error.detail)
            failure.serverError = error.serverError
            failure.serverDescription = error.serverDescription
            throw failure
        }
    }
}
