/// How a channel gets its OAuth 2.0 tokens.
package struct OAuthSettings: Sendable, Hashable {
    package var grant: Grant
    /// The issuer identifier byte for byte, as it is compared.
    package var issuer: String?
    package var tokenURL: EndpointURL?
    /// Where a person signs in, where metadata does not tell.
    package var authorizationURL: EndpointURL?
    /// Where a device asks for its code, where metadata does not tell.
    package var deviceURL: EndpointURL?
    /// Where tokens are revoked, where metadata does not tell.
    package var revocationURL: EndpointURL?
    /// Where a browser is sent back to.
    package var redirect: RedirectURI
    package var clientID: String
    package var clientSecret: SecretReference?
    package var clientAuthentication: ClientAuthentication
    /// Signs client assertions, for `private_key_jwt`.
    package var clientKey: ClientKey?
    /// Binds tokens to a key (DPoP, RFC 9449).
    package var proofKey: SecretReference?
    /// What a jwt_bearer grant presents.
    package var assertion: Assertion?
    /// What a token_exchange grant presents.
    package var exchange: Exchange?
    /// The token that a refresh_token grant starts from; without it a person signs in.
    package var refreshToken: SecretReference?
    package var scopes: [String]
    package var audience: String?
    /// Resource indicators (RFC 8707 §2).
    package var resources: [String]
    /// Further form parameters for the token endpoint, in the order of the file.
    package var parameters: [Parameter]
    /// The advisory window before expiry; the engine clamps it to a share of the lifetime.
    package var refreshBefore: Duration
    /// A proxy on the way to the authorization server.
    package var proxy: ProxySettings?

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
        /// Basic without the form encoding that RFC 6749 §2.3.1 asks for.
        case basicRaw = "basic_raw"
        case post
        case privateKeyJWT = "private_key_jwt"
        case tls
        case none
    }

    /// The key of client assertions (RFC 7523 §2.2).
    package struct ClientKey: Sendable, Hashable {
        /// A private key in PEM.
        package var key: SecretReference
        /// Its name with the server.
        package var id: String?
        /// To whom assertions are made out; nothing means the issuer.
        package var audience: String?
    }

    /// The assertion of a jwt_bearer grant (RFC 7523 §2.1).
    package struct Assertion: Sendable, Hashable {
        /// Who signs.
        package enum Signer: Sendable, Hashable {
            /// A private key in PEM, and its name with the server.
            case key(SecretReference, id: String?)
            /// The JSON key file of a service account.
            case serviceAccount(SecretReference)
        }

        package var signer: Signer
        /// Nothing means the client's id, or the account's name.
        package var issuer: String?
        /// Nothing means the issuer of the assertion.
        package var subject: String?
        /// Nothing means the server's issuer, or the account's token endpoint.
        package var audience: String?
    }

    /// The tokens of a token_exchange grant (RFC 8693 §2.1).
    package struct Exchange: Sendable, Hashable {
        /// Read anew for each token request.
        package var subjectToken: SecretReference
        package var subjectTokenType: String
        /// Read anew for each token request.
        package var actorToken: SecretReference?
        package var actorTokenType: String
        package var requestedTokenType: String?
    }

    /// A form parameter for the token endpoint.
    package struct Parameter: Sendable, Hashable {
        package var name: String
        package var value: String
    }
}
