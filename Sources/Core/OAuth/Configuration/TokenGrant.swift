public import NetworkCore

/// A grant for a token endpoint: form parameters, some of them secret.
public struct TokenGrant: Sendable {
    /// The `grant_type`.
    public let type: String
    /// The parameters that belong to the grant, without those of the client.
    public let parameters: [FormParameter]
    /// The secrets presented, such as a refresh token, a code or an assertion; no description shows them.
    public let secretParameters: [SecretParameter]
    /// The reason of the request; passed to a helper program, not to an endpoint.
    public internal(set) var reason = OAuthEvent.Reason.initial
    /// Called when the request is written: with `false` nothing is sent, since another process may present
    /// the same refresh token by now.
    var mayBePresented: (@Sendable () -> Bool)?
    /// The JSON to send instead of a form; the assertion is then the request's own bearer token, and
    /// the response is GitHub's.
    var json: String?
    /// The name of the parameter that carries an assertion.
    static let assertionName = "assertion"
    /// The party that may send a refused request again.
    var repeats = Repeats.byClient

    /// The parties that may send a refused request again.
    enum Repeats {
        /// The client of the token endpoint.
        case byClient
        /// The caller, which may have to make another grant first.
        case byCaller
    }

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

    /// The refresh token presented, if this grant has one.
    var refreshToken: Secret? {
        type == "refresh_token" ? secretParameters.first?.value : nil
    }

    /// Describes a grant.
    ///
    /// - Parameters:
    ///   - type: the `grant_type`.
    ///   - parameters: the public parameters of the grant.
    ///   - secretParameters: the secrets presented.
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
    ///   - parameters: the public parameters of the grant.
    ///   - secretName: the name of the parameter that carries `secret`.
    ///   - secret: the secret presented.
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

    /// A refresh token (RFC 6749 §6).
    ///
    /// - Parameters:
    ///   - token: the refresh token.
    ///   - scopes: the scopes of the access token; without any, the grant keeps its scope.
    /// - Returns: the grant.
    public static func refreshToken(_ token: Secret, scopes: [String] = []) -> TokenGrant {
        TokenGrant(
            type: "refresh_token",
            parameters: scopes.isEmpty
                ? [] : [FormParameter("scope", scopes.joined(separator: " "))],
            secretParameters: [SecretParameter("refresh_token", token)]
        )
    }

    /// The code that a browser returned (RFC 6749 §4.1.3), presented once, with the verifier that proves
    /// who requested it (RFC 7636 §4.5).
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

    /// A device code (RFC 8628 §3.4).
    public static func deviceCode(_ code: Secret) -> TokenGrant {
        TokenGrant(
            type: "urn:ietf:params:oauth:grant-type:device_code",
            secretParameters: [SecretParameter("device_code", code)]
        )
    }
}

/// Makes grants other than the client's credentials and refresh tokens: an assertion (RFC 7523), or a
/// token to exchange (RFC 8693).
public protocol GrantProviding: Sendable {
    /// Identifies whose tokens it obtains, without secrets: tokens are shared only between equal
    /// identities.
    var identity: String { get }

    /// Makes the grant for one token request, to be presented once.
    ///
    /// - Parameters:
    ///   - configuration: for which client and token endpoint.
    ///   - now: the server's time of day, to sign with.
    /// - Returns: the grant.
    /// - Throws: `TokenFailure` if there is nothing to present, with a reason the user can act on.
    func grant(
        for configuration: OAuthConfiguration,
        at now: UnixTime
    ) async throws(TokenFailure) -> TokenGrant
}
