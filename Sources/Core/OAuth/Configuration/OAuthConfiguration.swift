public import NetproxySettings
public import NetworkCore

/// The client, the authorization server, and how tokens are requested and renewed.
public struct OAuthConfiguration: Sendable {
    /// The token endpoint (RFC 6749 §3.2); `http` is refused unless it is loopback or
    /// `allowsInsecure`.
    public typealias TokenEndpoint = ServerEndpoint

    /// The client's authentication (RFC 6749 §2.3.1).
    public typealias ClientAuthentication = NetproxySettings.ClientAuthentication

    /// The grant presented to the token endpoint.
    public enum Grant: Sendable {
        /// The client's own credentials (RFC 6749 §4.4).
        case clientCredentials
        /// A refresh token (RFC 6749 §6): the stored one, else `initial`; without either the user must
        /// sign in. A changed `initial` replaces the stored tokens.
        case refreshToken(initial: Secret?)
        /// A grant made for each token request.
        case provided(any GrantProviding)

        /// Whether it needs neither a sign-in nor stored tokens.
        var isSelfSufficient: Bool {
            if case .refreshToken(nil) = self { false } else { true }
        }
    }

    /// The token of a response that requests carry.
    public enum TokenUse: String, Sendable {
        /// The access token.
        case accessToken = "access_token"
        /// The ID token (OpenID Connect Core §2), which some gateways and clusters expect.
        case idToken = "id_token"
    }

    /// The meaning of an `expires_in` of zero or less, on which servers disagree.
    public enum ZeroLifetime: Sendable {
        /// The token serves the requests that waited for it and is not reused.
        case useOnce
        /// The same as a missing `expires_in`.
        case unknown
    }

    /// The reaction to a presented refresh token without a usable response: it may be spent.
    public enum LostResponse: Sendable {
        /// Present it again at once, within this time after it was first sent. Many servers return the
        /// same tokens for a repetition within 10 to 60 s.
        case repeatWithin(Duration)
        /// Wait for the next attempt after the back-off.
        case wait
    }

    /// The limit on renewals within a window, so that an upstream that refuses every token does not
    /// flood the token endpoint.
    ///
    /// For revoked tokens, which the upstream accepted before it refused them, the limit is six times
    /// as high.
    public struct ExcessGuard: Sendable {
        /// The largest number of token requests.
        public var count: Int
        /// The window they are counted in.
        public var window: Duration

        /// Sets a limit; the default, 5 in 30 s, is Alamofire's.
        public init(count: Int = 5, window: Duration = .seconds(30)) {
            self.count = count
            self.window = window
        }
    }

    /// The token endpoint; the issuer, for a server whose metadata names the endpoint.
    ///
    /// `DiscoveringTokenClient` is the service that reads the metadata.
    public var tokenEndpoint: TokenEndpoint
    /// The endpoint that refresh tokens are presented to; `nil` for the token endpoint.
    public var refreshEndpoint: ServerEndpoint?
    /// The format of token requests.
    ///
    /// Default a form.
    public var requestFormat = TokenRequestFormat.form
    /// The places of the members of token responses, as JSON pointers (RFC 6901).
    ///
    /// A member with a pointer is looked for nowhere else. Default none.
    public var responsePointers: [TokenResponseMember: String] = [:]
    /// The server's issuer identifier, byte for byte; `nil` if unknown.
    public var issuer: String?
    /// The client identifier.
    public var clientID: String
    /// The client's secret, if it has one.
    public var clientSecret: Secret?
    /// The client's secret, to be read again after the server refuses it.
    ///
    /// It takes precedence over `clientSecret`, and with `privateKeyJWT`, as a key in PEM, over
    /// `clientKey`.
    public var rotatingSecret: RotatingSecret?
    /// Signs client assertions; required for `privateKeyJWT`.
    public var clientKey: SigningKey?
    /// Binds tokens to a key (DPoP, RFC 9449); unbound tokens are then rejected.
    ///
    /// Managers that share a token store must share the key, or they cannot use its tokens.
    public var proof: ProofOfPossession?
    /// The audience of client assertions.
    ///
    /// Default: the issuer, as one string (CVE-2025-27370); without one, the token endpoint.
    public var clientAssertionAudience: String?
    /// The client's authentication.
    ///
    /// Default `basic`.
    public var clientAuthentication: ClientAuthentication
    /// The grant presented to the token endpoint.
    public var grant: Grant
    /// The requested scopes (RFC 6749 §3.3); sent with a refresh only if `narrowsScope`.
    public var scopes: [String]
    /// Whether a refresh requests only `scopes`, with a refresh token that has more (RFC 6749 §6).
    ///
    /// Default no: the grant keeps its scope.
    public var narrowsScope = false
    /// The `audience` parameter that some servers require.
    public var audience: String?
    /// Resource indicators (RFC 8707), each an absolute URI.
    public var resources: [String] = []
    /// Additional form parameters, sent with every token request.
    public var parameters: [FormParameter] = []
    /// Additional parameters of the page where a user signs in, sent nowhere else.
    public var authorizationParameters: [FormParameter] = []
    /// Additional fields of every request that carries the client's authentication.
    ///
    /// They replace those that the request would have. Their values count as secrets.
    public var requestFields: [HTTPField] = []
    /// The token that requests carry.
    ///
    /// Default the access token.
    public var use = TokenUse.accessToken
    /// The time before expiry at which a token is renewed in the background.
    ///
    /// Default 5 min, at most 20 % of the token's lifetime.
    public var refreshBefore: Duration = .seconds(300)
    /// The lifetime of a token whose response names none; if `nil`, such a token is used until a 401.
    public var defaultLifetime: Duration?
    /// The meaning of an `expires_in` of zero or less.
    ///
    /// Default `useOnce`.
    public var zeroLifetime = ZeroLifetime.useOnce
    /// The maximum duration of one token request.
    ///
    /// Default 10 s.
    public var requestTimeout: Duration = .seconds(10)
    /// The maximum wait of a request for a token, each time that it needs one: at first, and after a
    /// refusal.
    ///
    /// Default 15 s; the request's own deadline counts too.
    public var waitTimeout: Duration = .seconds(15)
    /// The maximum wait of a request without a token for the attempt after a failed one.
    ///
    /// It fails at once if the back-off takes longer. Default 5 s; with zero it never waits.
    public var failurePatience: Duration = .seconds(5)
    /// The maximum number of requests that wait for a token.
    ///
    /// Default 4096, the default limit of connections.
    public var waiterLimit = 4096
    /// The reaction to a lost response.
    ///
    /// Default: repeat within 30 s.
    public var lostResponse = LostResponse.repeatWithin(.seconds(30))
    /// The limit on renewals; `nil` disables it.
    ///
    /// Default 5 in 30 s.
    public var excessGuard: ExcessGuard? = ExcessGuard()
    /// The longest honored `Retry-After`.
    ///
    /// Default 5 min.
    public var retryAfterLimit: Duration = .seconds(300)
    /// Whether secrets may go to an `http` token endpoint that is not loopback.
    ///
    /// Default no.
    public var allowsInsecure = false
    /// The server and the client found by the URL of a protected resource; stored with the tokens.
    package var pinned: PinnedServer?
    /// Whether `pinned` comes from sign-ins, so that a stored sign-in at another server is valid.
    package var isDiscovered = false

    /// Creates a configuration; properties without a parameter here have their defaults.
    public init(
        tokenEndpoint: TokenEndpoint,
        clientID: String,
        clientSecret: Secret? = nil,
        clientAuthentication: ClientAuthentication = .basic,
        grant: Grant = .clientCredentials,
        scopes: [String] = [],
        audience: String? = nil
    ) {
        self.tokenEndpoint = tokenEndpoint
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.clientAuthentication = clientAuthentication
        self.grant = grant
        self.scopes = scopes
        self.audience = audience
    }
}

extension OAuthConfiguration {
    /// The client and the token endpoint: a stored refresh token is presented by no other client and to
    /// no other endpoint.
    package var authority: String {
        "\(clientID)@\(tokenEndpoint.origin)\(tokenEndpoint.target)"
    }

    /// Everything that determines an access token, and whose it is.
    ///
    /// Tokens are shared only under equal keys.
    package var credentialKey: String {
        var parts = scopes.sorted().map { FormParameter("scope", $0) }
        if let audience { parts.append(FormParameter("audience", audience)) }
        parts += resources.sorted().map { FormParameter("resource", $0) }
        parts += parameters.sorted { ($0.name, $0.value) < ($1.name, $1.value) }
        switch grant {
        // A user who signed in is not the client itself.
        case .clientCredentials: parts.append(FormParameter("grant", "client_credentials"))
        case .refreshToken: break
        case .provided(let provider): parts.append(FormParameter("grant", provider.identity))
        }
        if let proof { parts.append(FormParameter("dpop_jkt", proof.thumbprint)) }
        if use == .idToken { parts.append(FormParameter("use", use.rawValue)) }
        return FormEncoding.encode(parts)
    }

    /// The lifetime of a token, if the server or the configuration names one.
    func lifetime(of response: TokenResponse) -> Duration? {
        let told = response.lifetime == .zero && zeroLifetime == .unknown ? nil : response.lifetime
        return told ?? defaultLifetime
    }

    /// The audience, the resources and the additional parameters, as form parameters.
    var targets: [FormParameter] {
        let audience = audience.map { [FormParameter("audience", $0)] } ?? []
        return audience + resources.map { FormParameter("resource", $0) } + parameters
    }

    /// The secrets that must be removed from a server's messages.
    var secrets: [Secret] {
        (presentedSecret.map { [$0] } ?? []) + requestFields.map { Secret($0.value) }
    }

    /// The configuration for a source of credentials without a token endpoint.
    static func withoutEndpoint(requestTimeout: Duration) -> OAuthConfiguration {
        // The endpoint is never contacted.
        var configuration = OAuthConfiguration(
            tokenEndpoint: "https://token-endpoint.invalid/",
            clientID: ""
        )
        configuration.requestTimeout = requestTimeout
        return configuration
    }
}
