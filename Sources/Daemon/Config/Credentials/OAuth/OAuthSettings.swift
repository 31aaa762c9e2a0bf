package import NetproxySettings

/// The settings of a channel's OAuth 2.0 tokens.
package struct OAuthSettings: Sendable, Hashable {
    package var grant: Grant
    /// The discovery of the server by the upstream's URL (RFC 9728), or nil without it.
    package var discovery: Discovery?
    /// The issuer identifier as configured; it is compared byte for byte.
    package var issuer: String?
    package var tokenURL: EndpointURL?
    /// The endpoint for refresh tokens; nil for the token endpoint.
    package var refreshURL: EndpointURL?
    /// The format of token requests.
    package var requestFormat = RequestFormat.form
    /// The places of members of token responses, as JSON pointers by their names.
    package var responsePointers: [String: String] = [:]
    /// The authorization endpoint; nil to use the metadata.
    package var authorizationURL: EndpointURL?
    /// The device authorization endpoint; nil to use the metadata.
    package var deviceURL: EndpointURL?
    /// The revocation endpoint; nil to use the metadata.
    package var revocationURL: EndpointURL?
    /// The pushed authorization request endpoint (RFC 9126); nil to use the metadata.
    package var pushedURL: EndpointURL?
    /// The URI to which the browser is redirected after a sign-in.
    package var redirect: RedirectURI
    package var clientID: String
    package var clientSecret: SecretReference?
    package var clientAuthentication: ClientAuthentication
    /// The key that signs client assertions, for `private_key_jwt`.
    package var clientKey: ClientKey?
    /// The key that binds tokens (DPoP, RFC 9449).
    package var proofKey: SecretReference?
    /// The assertion of a jwt_bearer grant.
    package var assertion: Assertion?
    /// The tokens of a token_exchange grant.
    package var exchange: TokenExchange?
    /// The initial token of a refresh_token grant; nil requires a sign-in.
    package var refreshToken: SecretReference?
    package var scopes: [String]
    package var audience: String?
    /// Resource indicators (RFC 8707 §2).
    package var resources: [String]
    /// Additional form parameters for the token endpoint, in the order of the file.
    package var parameters: [Parameter]
    /// Additional parameters of the sign-in page.
    package var authorizationParameters: [Parameter]
    /// Additional fields of token requests.
    package var tokenFields: [TokenField]
    /// The grant that an `extension` grant presents.
    package var grantExtension: GrantExtension?
    /// The installation of a github_app grant.
    package var installation: Installation?
    /// The token in the response that netproxy adds to requests.
    package var use: TokenUse
    /// The time before the expiry at which to refresh; the engine limits it to a share of the lifetime.
    package var refreshBefore: Duration
    /// The proxy on the way to the authorization server.
    package var proxy: ProxySettings?

    /// The discovery of the authorization server of an upstream, at a sign-in.
    package struct Discovery: Sendable, Hashable {
        /// The URL of a document about the client, which is its ID at servers that accept such IDs.
        package var clientMetadataURL: String?
    }

    /// The grant of the first token.
    package enum Grant: String, Sendable, CaseIterable {
        case clientCredentials = "client_credentials"
        case refreshToken = "refresh_token"
        case authorizationCode = "authorization_code"
        case deviceCode = "device_code"
        case jwtBearer = "jwt_bearer"
        case tokenExchange = "token_exchange"
        /// The token of a GitHub App installation.
        case githubApp = "github_app"
        /// Any other grant type, by its own name.
        case byName = "extension"
    }

    /// The token in the response that netproxy adds to requests.
    package enum TokenUse: String, Sendable, CaseIterable {
        case accessToken = "access_token"
        case idToken = "id_token"
    }

    /// The format of token requests.
    package enum RequestFormat: String, Sendable, CaseIterable {
        case form, json
    }

    /// An extension grant of the provider (RFC 6749 §4.5).
    package struct GrantExtension: Sendable, Hashable {
        /// The `grant_type`.
        package var type: String
        /// The parameters with secret values, read again for each token request.
        package var secrets: [HeaderSecret]
    }

    /// An installation of a GitHub App, and the limits of its tokens.
    package struct Installation: Sendable, Hashable {
        package var id: String
        /// The repository names without owners; empty means all.
        package var repositories: [String]
        /// The permissions; empty means all.
        package var permissions: [Permission]

        package init(id: String, repositories: [String], permissions: [Permission]) {
            (self.id, self.repositories) = (id, repositories)
            self.permissions = permissions
        }

        /// The access to one kind of resource.
        package struct Permission: Sendable, Hashable {
            package var name: String
            package var access: Access

            package init(name: String, access: Access) {
                (self.name, self.access) = (name, access)
            }

            /// The access levels of GitHub.
            package enum Access: String, Sendable, CaseIterable {
                case read, write, admin
            }
        }
    }

    /// A field of token requests.
    package enum TokenField: Sendable, Hashable {
        case text(HeaderField)
        case secret(HeaderSecret)
    }

    /// The key of client assertions (RFC 7523 §2.2).
    package struct ClientKey: Sendable, Hashable {
        /// A private key in PEM.
        package var key: SecretReference
        /// The key ID (`kid`) registered with the server.
        package var id: String?
        /// The audience of assertions; nil means the issuer.
        package var audience: String?
    }

    /// The assertion of a jwt_bearer grant (RFC 7523 §2.1).
    package struct Assertion: Sendable, Hashable {
        /// The signer of the assertion.
        package enum Signer: Sendable, Hashable {
            /// A private key in PEM, and its key ID.
            case key(SecretReference, id: String?)
            /// The JSON key file of a service account.
            case serviceAccount(SecretReference)
        }

        package var signer: Signer
        /// The issuer; nil means the client ID, or the account's name.
        package var issuer: String?
        /// The subject; nil means the issuer of the assertion.
        package var subject: String?
        /// The audience; nil means the server's issuer, or the account's token endpoint.
        package var audience: String?
    }

    /// The tokens of a token_exchange grant (RFC 8693 §2.1).
    package struct TokenExchange: Sendable, Hashable {
        /// The subject token, read again for each token request.
        package var subjectToken: SecretReference
        package var subjectTokenType: String
        /// The actor token, read again for each token request.
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
