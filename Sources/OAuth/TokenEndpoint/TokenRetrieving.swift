public import NetworkCore

/// What an OAuth manager needs of an authorization server.
public typealias OAuthService = TokenRetrieving & SignInRequestProvider

/// Asks a token endpoint for tokens: from a refresh token, an authorization code, or the client's
/// own credentials.
public protocol TokenRetrieving: Sendable {
    /// Presents a grant once, without repeating it in case of failure.
    ///
    /// - Parameters:
    ///   - grant: what is presented.
    ///   - configuration: to whom, and as which client.
    ///   - deadline: when the answer must be there.
    /// - Returns: the tokens.
    /// - Throws: `TokenFailure`, which says whether the grant may have been spent.
    func tokens(
        for grant: TokenGrant,
        configuration: OAuthConfiguration,
        deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> TokenResponse

    /// How far the authorization server's clock is ahead of ours, as far as is known.
    var clockOffset: Duration { get }

    /// What the authorization server calls itself (RFC 8414 §2), where the service has found that out:
    /// assertions are made for it, if the configuration names no issuer.
    var issuer: String? { get }
}

extension TokenRetrieving {
    /// Both clocks agree.
    public var clockOffset: Duration { .zero }
    /// Only the configuration knows it.
    public var issuer: String? { nil }
}

/// Knows which page a person must open to sign in.
public protocol SignInRequestProvider: Sendable {
    /// The request to open in a browser, or nothing if this service signs nobody in.
    func signInRequest(configuration: OAuthConfiguration) throws -> Request?
}

extension SignInRequestProvider {
    /// Signs nobody in.
    public func signInRequest(configuration: OAuthConfiguration) throws -> Request? { nil }
}

/// What is presented to a token endpoint: form parameters, and which of them is a secret.
public struct TokenGrant: Sendable {
    /// The `grant_type`.
    public let type: String
    /// The parameters that belong to the grant, without those of the client.
    public let parameters: [FormParameter]
    /// What is presented: a refresh token, a code, an assertion; no text of the grant shows it.
    public let secretParameters: [SecretParameter]
    /// Why a token is asked for; an endpoint is not told, a helper program is.
    public internal(set) var reason = OAuthEvent.Reason.initial
    /// Whether it is made for one presentation, as an assertion is: what is refused for want of a
    /// nonce is not presented once more but made anew.
    var isMadeAnew = false

    /// A form parameter whose value is a secret.
    public struct SecretParameter: Sendable {
        /// The name.
        public let name: String
        /// The value.
        public let value: Secret

        /// Makes a parameter.
        public init(_ name: String, _ value: Secret) {
            self.name = name
            self.value = value
        }
    }

    /// The refresh token, if it is one that is presented.
    var refreshToken: Secret? {
        type == "refresh_token" ? secretParameters.first?.value : nil
    }

    /// Describes a grant.
    ///
    /// - Parameters:
    ///   - type: the `grant_type`.
    ///   - parameters: what belongs to the grant and is no secret.
    ///   - secretParameters: what is presented.
    public init(
        type: String,
        parameters: [FormParameter] = [],
        secretParameters: [SecretParameter] = []
    ) {
        self.type = type
        self.parameters = parameters
        self.secretParameters = secretParameters
    }

    /// Describes a grant that presents one secret.
    ///
    /// - Parameters:
    ///   - type: the `grant_type`.
    ///   - parameters: what belongs to the grant and is no secret.
    ///   - secretName: the name of the parameter that carries `secret`.
    ///   - secret: what is presented.
    public init(
        type: String,
        parameters: [FormParameter] = [],
        secretName: String,
        secret: Secret
    ) {
        self.init(
            type: type,
            parameters: parameters,
            secretParameters: [SecretParameter(secretName, secret)]
        )
    }

    /// The client's own credentials (RFC 6749 §4.4).
    public static func clientCredentials(scopes: [String]) -> TokenGrant {
        TokenGrant(
            type: "client_credentials",
            parameters: [FormParameter("scope", scopes.joined(separator: " "))]
        )
    }

    /// A refresh token (RFC 6749 §6); `scope` is left out, so that the grant keeps what it has.
    public static func refreshToken(_ token: Secret) -> TokenGrant {
        TokenGrant(
            type: "refresh_token",
            secretParameters: [SecretParameter("refresh_token", token)]
        )
    }

    /// The code that a browser brought back (RFC 6749 §4.1.3), presented once, with the proof that
    /// it was asked for here (RFC 7636 §4.5).
    public static func authorizationCode(
        _ code: Secret,
        redirect: String,
        verifier: Secret
    ) -> TokenGrant {
        TokenGrant(
            type: "authorization_code",
            parameters: [FormParameter("redirect_uri", redirect)],
            secretParameters: [
                SecretParameter("code", code), SecretParameter("code_verifier", verifier),
            ]
        )
    }

    /// The code of a device (RFC 8628 §3.4).
    public static func deviceCode(_ code: Secret) -> TokenGrant {
        TokenGrant(
            type: "urn:ietf:params:oauth:grant-type:device_code",
            secretParameters: [SecretParameter("device_code", code)]
        )
    }
}

/// Makes what is presented where it is neither the client's own credentials nor a refresh token: an
/// assertion (RFC 7523), or a token to exchange (RFC 8693).
public protocol GrantProviding: Sendable {
    /// Tells whose tokens come of it, without secrets: tokens are shared under equal ones only.
    var identity: String { get }

    /// Makes a grant for one token request; it is presented once.
    ///
    /// - Parameters:
    ///   - configuration: for which client and token endpoint.
    ///   - now: the time of day to sign with, as the server has it.
    /// - Returns: the grant.
    /// - Throws: `TokenFailure` if there is nothing to present, with words a person can act on.
    func grant(
        for configuration: OAuthConfiguration,
        at now: UnixTime
    ) async throws(TokenFailure) -> TokenGrant
}

/// A token endpoint's good answer (RFC 6749 §5.1).
public struct TokenResponse: Sendable {
    /// The access token.
    public var accessToken: Secret
    /// How long it lives from when it was asked for; nothing if the server did not say.
    public var lifetime: Duration?
    /// When the server wants it renewed (`refresh_in`), counted likewise.
    public var refreshIn: Duration?
    /// The refresh token that takes the place of the one presented; nothing means keep that.
    public var refreshToken: Secret?
    /// How long the refresh token lives, counted likewise; nothing if the server did not say.
    public var refreshLifetime: Duration?
    /// What was granted, where it differs from what was asked for.
    public var scope: String?
    /// The scheme that the token is presented with.
    ///
    /// Default `Bearer`.
    public var scheme = "Bearer"

    /// Makes an answer.
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

/// A token request that brought no token.
public struct TokenFailure: Error, Sendable {
    /// What follows from it.
    public enum Class: String, Sendable {
        /// The exact error `invalid_grant`: what was presented is worth nothing (any more).
        case invalidGrant = "invalid_grant"
        /// Client or configuration are wrong; only a person can change that.
        case configuration
        /// It may work later; what was presented has not been spent.
        case transient
        /// It was sent and no usable answer came: what was presented may be spent.
        case lost
    }

    /// What follows from it.
    public var kind: Class
    /// One clause a person can act on, without secrets.
    public var detail: String
    /// The server's own `error` word (RFC 6749 §5.2).
    public var serverError: String?
    /// The server's own `error_description`, cleaned and shortened.
    public var serverDescription: String?
    /// How long the server asks to be left alone.
    public var retryAfter: Duration?
    /// Whether what was presented may have been used up.
    public var mayBeSpent: Bool
    /// A refresh token that came in an answer which is no use otherwise: it must not be lost.
    public var refreshToken: Secret?
    /// How far the server's clock was thought to be ahead when the request was signed.
    var clockOffset: Duration?

    /// Describes a failure.
    public init(_ kind: Class, detail: String) {
        self.kind = kind
        self.detail = detail
        mayBeSpent = kind == .lost
    }
}

extension TokenFailure: CustomStringConvertible {
    /// The detail.
    public var description: String { detail }
}
