public import NetworkCore

/// A successful response of a token endpoint (RFC 6749 §5.1).
public struct TokenResponse: Sendable {
    /// The access token.
    public var accessToken: Secret
    /// Its lifetime, counted from the request; `nil` if the server did not say.
    public var lifetime: Duration?
    /// The time until the server wants it renewed (`refresh_in`), counted from the request.
    public var refreshIn: Duration?
    /// The refresh token that replaces the one presented; `nil` keeps that one.
    public var refreshToken: Secret?
    /// The refresh token's lifetime, counted from the request; `nil` if the server did not say.
    public var refreshLifetime: Duration?
    /// The scope granted, if it differs from the scope requested.
    public var scope: String?
    /// The scheme that the token is presented with.
    ///
    /// Default `Bearer`.
    public var scheme = "Bearer"
    /// The `token_type`, if it is another word than the scheme, fit to be shown.
    public var unusualType: String?

    /// Makes a response.
    public init(
        accessToken: Secret,
        lifetime: Duration? = nil,
        refreshIn: Duration? = nil,
        refreshToken: Secret? = nil,
        scope: String? = nil
    ) {
        self.accessToken = accessToken
        self.lifetime = lifetime
        self.refreshIn = refreshIn
        self.refreshToken = refreshToken
        self.scope = scope
    }
}

/// A token request that failed.
public struct TokenFailure: Error, Sendable {
    /// The consequence of the failure.
    public enum Class: String, Sendable {
        /// The exact error `invalid_grant`: the grant presented is not valid, or no longer.
        case invalidGrant = "invalid_grant"
        /// The client or its configuration is wrong; only an operator can fix that.
        case configuration
        /// It may work later; the grant presented has not been spent.
        case transient
        /// The request was sent and no usable response came: the grant may have been spent.
        case lost
    }

    /// The consequence of the failure.
    public var kind: Class
    /// One clause that names the remedy, without secrets.
    public var detail: String
    /// The server's `error` code (RFC 6749 §5.2).
    public var serverError: String?
    /// The server's `error_description`, cleaned and shortened.
    public var serverDescription: String?
    /// The wait before the next request that the server requires.
    public var retryAfter: Duration?
    /// Whether the grant presented may have been spent.
    public var mayBeSpent: Bool
    /// Whether the same request will fail in the same way until an operator or a user acts: then it is
    /// repeated after minutes, not seconds.
    ///
    /// Default: for `invalidGrant` and `configuration`.
    public var needsOperator: Bool
    /// A refresh token from an otherwise unusable response: it must not be lost.
    public var refreshToken: Secret?
    /// The time by which the server's clock was assumed to be ahead when the request was signed.
    var clockOffset: Duration?

    /// Describes a failure.
    public init(_ kind: Class, detail: String) {
        self.kind = kind
        self.detail = detail
        mayBeSpent = kind == .lost
        needsOperator = kind == .invalidGrant || kind == .configuration
    }
}

extension TokenFailure {
    /// Nothing was sent, because another machine may have the lock by now.
    static var lockLost: TokenFailure {
        TokenFailure(
            .transient,
            detail: "the lock of the shared store ended before the refresh token was presented"
        )
    }
}

extension TokenFailure: CustomStringConvertible {
    /// The detail.
    public var description: String { detail }
}
