/// The credential that a channel adds to requests.
package enum Authentication: Sendable, Hashable {
    case none
    case oauth(OAuthSettings)
    case bearer(SecretReference)
    case basic(username: String, password: SecretReference)
    case header(name: String, value: SecretReference)
    /// The absolute path of a helper that prints a token, and its arguments.
    case exec([String])
}

/// How a channel gets its OAuth 2.0 tokens.
package struct OAuthSettings: Sendable, Hashable {
    package var grant: Grant
    package var issuer: EndpointURL?
    package var tokenURL: EndpointURL?
    package var clientID: String
    package var clientSecret: SecretReference?
    package var clientAuthentication: ClientAuthentication
    /// The token that a refresh_token grant starts from; without it a person signs in.
    package var refreshToken: SecretReference?
    package var scopes: [String]
    package var audience: String?
    /// Further form parameters for the token endpoint, in the order of the file.
    package var parameters: [Parameter]
    /// The advisory window before expiry; the engine clamps it to a share of the lifetime.
    package var refreshBefore: Duration

    /// How the first token is obtained.
    package enum Grant: String, Sendable, CaseIterable {
        case clientCredentials = "client_credentials"
        case refreshToken = "refresh_token"
        case authorizationCode = "authorization_code"
        case deviceCode = "device_code"
        case jwtBearer = "jwt_bearer"
        case tokenExchange = "token_exchange"
    }

    /// How the client proves itself to the token endpoint.
    package enum ClientAuthentication: String, Sendable, CaseIterable {
        case basic
        case post
        case privateKeyJWT = "private_key_jwt"
        case tls
        case none
    }

    /// A form parameter for the token endpoint.
    package struct Parameter: Sendable, Hashable {
        package var name: String
        package var value: String
    }
}
