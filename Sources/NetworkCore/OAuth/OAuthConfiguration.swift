/// How tokens are asked for and used.
public struct OAuthConfiguration: Sendable {
    /// What the token endpoint is asked with.
    public enum Grant: Sendable {
        /// RFC 6749 §4.4.
        case clientCredentials
        /// RFC 6749 §6; `initial` starts the family where the store holds none.
        case refreshToken(initial: Secret?)
    }

    /// How the client proves who it is (RFC 6749 §2.3.1); never guessed.
    public enum ClientAuthentication: Sendable {
        /// In `Authorization`, id and secret form-encoded first.
        case basic
        /// In `Authorization` as they are, for servers that do not decode them.
        case basicRaw
        /// In the body.
        case post
        /// A public client: only its id, in the body.
        case none
    }

    /// Scheme, host and port of the token endpoint.
    public var tokenOrigin: Origin
    /// Path and query of the token endpoint.
    public var tokenTarget: String
    /// The client.
    public var clientID: String
    /// Its secret.
    public var clientSecret: Secret?
    /// How it proves itself.
    ///
    /// Default `basic`.
    public var clientAuthentication = ClientAuthentication.basic
    /// What is asked with.
    public var grant: Grant
    /// Asked for where the grant allows it; order does not matter.
    public var scopes: [String] = []
    /// Sent as `audience`.
    public var audience: String?
    /// Further form fields.
    public var parameters: [(name: String, value: String)] = []
    /// The advisory window: a token is renewed in the background this long before it expires, at
    /// most 20 % of its lifetime.
    ///
    /// Default 5 min.
    public var refreshBefore: Duration = .seconds(300)
    /// How long one request to the token endpoint may take.
    ///
    /// Default 10 s.
    public var requestTimeout: Duration = .seconds(10)
    /// How many requests may wait for a token at once.
    ///
    /// Default 4096.
    public var waiterLimit = 4096

    /// Makes a configuration with the defaults.
    public init(
        tokenOrigin: Origin,
        tokenTarget: String,
        clientID: String,
        clientSecret: Secret?,
        grant: Grant
    ) {
        self.tokenOrigin = tokenOrigin
        self.tokenTarget = tokenTarget
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.grant = grant
    }
}
