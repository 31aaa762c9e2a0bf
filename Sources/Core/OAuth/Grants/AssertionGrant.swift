public import NetworkCore

/// Presents a signed assertion (RFC 7523 §2.1), a new one for each token request.
public struct AssertionGrant: GrantProviding {
    private let key: SigningKey
    private let issuer: String
    private let subject: String
    private let audience: String?
    private let scope: ScopePlace

    /// The place of the scopes.
    private enum ScopePlace {
        case form
        /// In the assertion, as service accounts require.
        case claims
    }

    /// Makes assertions with a key.
    ///
    /// - Parameters:
    ///   - key: signs them.
    ///   - issuer: the `iss` claim.
    ///   - subject: the `sub` claim.
    ///   - audience: the `aud` claim; default the server's issuer, or without one its token endpoint.
    public init(key: SigningKey, issuer: String, subject: String, audience: String? = nil) {
        self.key = key
        self.issuer = issuer
        self.subject = subject
        self.audience = audience
        scope = .form
    }

    /// Makes assertions of a service account.
    ///
    /// - Parameters:
    ///   - account: the account and its key.
    ///   - subject: the `sub` claim; default the account itself.
    ///   - audience: the `aud` claim; default the account's token endpoint.
    public init(_ account: ServiceAccountKey, subject: String? = nil, audience: String? = nil) {
        key = account.key
        issuer = account.email
        self.subject = subject ?? account.email
        self.audience = audience ?? account.tokenURI
        scope = .claims
    }

    /// Issuer and subject.
    public var identity: String { "\(issuer) for \(subject)" }

    /// Signs an assertion.
    ///
    /// - Throws: `TokenFailure` if the key cannot sign.
    public func grant(
        for configuration: OAuthConfiguration,
        at now: UnixTime
    ) async throws(TokenFailure) -> TokenGrant {
        let scopes = configuration.scopes.joined(separator: " ")
        let assertion = Assertion(
            key: key,
            issuer: issuer,
            subject: subject,
            audience: audience ?? configuration.issuer ?? configuration.tokenEndpoint.description,
            scope: scope == .claims && !scopes.isEmpty ? scopes : nil
        )
        return TokenGrant(
            type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
            parameters: scope == .form ? [FormParameter("scope", scopes)] : [],
            secretParameters: [
                TokenGrant.SecretParameter(
                    TokenGrant.assertionName,
                    try assertion.presentable(at: now)
                )
            ]
        )
    }
}
