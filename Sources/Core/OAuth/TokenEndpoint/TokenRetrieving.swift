public import NetworkCore

/// The requests of an OAuth manager to an authorization server.
public typealias OAuthService = TokenRetrieving & SignInRequestProvider

/// Gets tokens from a token endpoint for a refresh token, an authorization code, or the client's own
/// credentials.
public protocol TokenRetrieving: Sendable {
    /// Presents a grant once; a failure is not retried.
    ///
    /// - Parameters:
    ///   - grant: the grant.
    ///   - configuration: the server and the client.
    ///   - deadline: the latest arrival of the response.
    /// - Returns: the tokens.
    /// - Throws: `TokenFailure`, which says whether the grant may have been spent.
    func tokens(
        for grant: TokenGrant,
        configuration: OAuthConfiguration,
        deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> TokenResponse

    /// The known lead of the authorization server's clock over ours.
    var clockOffset: Duration { get }

    /// The authorization server's issuer identifier (RFC 8414 §2), if the service discovered it: the
    /// audience of assertions when the configuration names no issuer.
    var issuer: String? { get }
}

extension TokenRetrieving {
    /// Zero: both clocks agree.
    public var clockOffset: Duration { .zero }
    /// `nil`: only the configuration knows it.
    public var issuer: String? { nil }
}

/// Supplies the page that a user opens to sign in.
public protocol SignInRequestProvider: Sendable {
    /// The request to open in a browser, or `nil` if this service does not support sign-in.
    func signInRequest(configuration: OAuthConfiguration) throws -> Request?
}

extension SignInRequestProvider {
    /// `nil`: sign-in is not supported.
    public func signInRequest(configuration: OAuthConfiguration) throws -> Request? { nil }
}
