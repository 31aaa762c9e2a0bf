import NetworkCore
package import OAuth

/// A source of credentials.
package protocol AWSCredentialSource: Sendable {
    /// Gets credentials once; a failure is not retried.
    ///
    /// - Parameters:
    ///   - reason: why they are wanted.
    ///   - deadline: when they must be here.
    /// - Returns: the credentials with their lifetime.
    /// - Throws: `TokenFailure`.
    func credentials(
        _ reason: OAuthEvent.Reason,
        until deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> IssuedCredentials
}

/// Credentials from a closure: configured keys, or the output of a program.
package struct ProvidedCredentials: AWSCredentialSource {
    private let provide:
        @Sendable (OAuthEvent.Reason) async throws(TokenFailure) -> IssuedCredentials

    /// Gets them by calling a closure.
    package init(
        _ provide:
            @escaping @Sendable (OAuthEvent.Reason) async throws(TokenFailure) ->
            IssuedCredentials
    ) {
        self.provide = provide
    }

    package func credentials(
        _ reason: OAuthEvent.Reason,
        until deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> IssuedCredentials { try await provide(reason) }
}

/// Presents a source of credentials to the token engine, which handles single flight, expiry, back-off and
/// replay.
struct AWSTokens: OAuthService {
    let source: any AWSCredentialSource

    func tokens(
        for grant: TokenGrant,
        configuration: OAuthConfiguration,
        deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> TokenResponse {
        let issued = try await source.credentials(grant.reason, until: deadline)
        return TokenResponse(accessToken: issued.credentials.encoded, lifetime: issued.lifetime)
    }
}

/// Credentials with the time for which they are valid.
package struct IssuedCredentials: Sendable {
    /// The credentials.
    package var credentials: AWSCredentials
    /// The rest of their lifetime; `nil` if they do not expire.
    package var lifetime: Duration?

    /// Describes issued credentials.
    package init(_ credentials: AWSCredentials, lifetime: Duration? = nil) {
        (self.credentials, self.lifetime) = (credentials, lifetime)
    }
}
