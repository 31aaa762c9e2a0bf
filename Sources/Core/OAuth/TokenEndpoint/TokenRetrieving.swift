public import NetworkCore

/// What an OAuth manager needs from an authorization server.
public typealias OAuthService = TokenRetrieving & SignInRequestProvider

/// Gets tokens from a token endpoint for a refresh token, an authorization code, or the client's own
/// credentials.
public protocol TokenRetrieving: Sendable {
    /// Presents a grant once; a failure is not retried.
    ///
    /// - Parameters:
    ///   - grant: what is presented.
    ///   - configuration: to whom, and as which client.
    ///   - deadline: when the response must have arrived.
    /// - Returns: the tokens.
    /// - Throws: `TokenFailure`, which says whether the grant may have been spent.
    func tokens(
        for grant: TokenGrant,
        configuration: OAuthConfiguration,
        deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> TokenResponse

    /// How far the authorization server's clock is ahead of ours, as far as is known.
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
