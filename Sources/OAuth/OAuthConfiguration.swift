public import NetworkCore

/// Where a credential comes from and how it is asked for.
public struct OAuthConfiguration: Sendable {
    /// The token endpoint (RFC 6749 §3.2); `http` is refused unless it is loopback or
    /// `allowsInsecure`.
    public typealias TokenEndpoint = ServerEndpoint

    /// How the client says who it is (RFC 6749 §2.3.1).
    ///
    /// Explicit, never probed: a wrong guess spends the refresh token.
    public enum ClientAuthentication: String, Sendable {
        /// HTTP Basic, id and secret form-encoded first as RFC 6749 §2.3.1 says.
        case basic
        /// HTTP Basic without that encoding, for servers that do not undo it.
        case basicRaw
        /// `client_id` and `client_secret` in the form.
        case post
        /// A client assertion (RFC 7523 §2.2), signed with `clientKey`.
        case privateKeyJWT = "private_key_jwt"
        /// The certificate of the connection (RFC 8705 §2); `client_id` in the form.
        case tls
        /// `client_id` alone: a public client.
        case none
    }

    /// What is presented to the token endpoint.
    public enum Grant: Sendable {
        /// The client's own credentials (RFC 6749 §4.4).
        case clientCredentials
        /// A refresh token (RFC 6749 §6): the stored one, else `initial`; without either a person
        /// must sign in. A changed `initial` replaces what was stored.
        case refreshToken(initial: Secret?)
        /// Something made anew for each token request.
        case provided(any GrantProviding)

        /// Whether it needs nobody's sign-in, nor anything that is stored.
        var isSelfSufficient: Bool {
            if case .refreshToken(nil) = self { false } else { true }
        }
    }

    /// What an `expires_in` of zero or less means; servers disagree.
    public enum ZeroLifetime: Sendable {
        /// The token serves the requests that waited for it and is not kept.
        case useOnce
        /// The same as no `expires_in`.
        case unknown
    }

    /// What to do when a refresh token was presented and no usable answer came: it may be spent.
    public enum LostResponse: Sendable {
        /// Present it once more, at once, if no more than this has passed since it was first sent.
        /// Many servers answer a repetition within 10 to 60 s with the same tokens.
        case repeatWithin(Duration)
        /// Leave it to the next attempt after the back-off.
        case wait
    }

    /// How many renewals within how long are too many: an upstream that answers every token with 401
    /// must not become a flood at the token endpoint.
    ///
    /// A token that the upstream took before it refused it was revoked; six times as many of those are
    /// too many.
    public struct ExcessGuard: Sendable {
        /// The largest number of token requests.
        public var count: Int
        /// Within which time.
        public var window: Duration

        /// Sets a limit; Alamofire's is the default, 5 in 30 s.
        public init(count: Int = 5, window: Duration = .seconds(30)) {
            self.count = count
            self.window = window
        }
    }

    /// Where tokens are asked for; of a server whose metadata tells that, its issuer.
    ///
    /// The service that finds endpoints by metadata is `DiscoveringTokenClient`.
    public var tokenEndpoint: TokenEndpoint
    /// The server's issuer identifier, byte for byte; nothing if it is not known.
    public var issuer: String?
    /// The client identifier.
    public var clientID: String
    /// The client's secret, where it has one.
    public var clientSecret: Secret?
    /// Signs client assertions; needed for `privateKeyJWT`.
    public var clientKey: SigningKey?
    /// Binds tokens to a key (DPoP, RFC 9449): a token that is not bound is not used then.
    ///
    /// Managers that share a token store share the key, or its tokens are worth nothing to them.
    public var proof: ProofOfPossession?
    /// To whom client assertions are made out.
    ///
    /// Default: the issuer, as one string (CVE-2025-27370); without one, the token endpoint.
    public var clientAssertionAudience: String?
    /// How the client says who it is.
    ///
    /// Default `basic`.
    public var clientAuthentication: ClientAuthentication
    /// What is presented.
    public var grant: Grant
    /// What the token should be good for (RFC 6749 §3.3); not sent with a refresh.
    public var scopes: [String]
    /// The `audience` parameter some servers want.
    public var audience: String?
    /// Resource indicators (RFC 8707), each an absolute URI.
    public var resources: [String] = []
    /// Further form parameters, sent with every token request.
    public var parameters: [FormParameter] = []
    /// How long before its end a token is renewed in the background.
    ///
    /// Default 5 min, at most 20 % of the token's lifetime.
    public var refreshBefore: Duration = .seconds(300)
    /// The lifetime of a token whose answer names none; without it such a token is used until a 401.
    public var defaultLifetime: Duration?
    /// What an `expires_in` of zero or less means.
    ///
    /// Default `useOnce`.
    public var zeroLifetime = ZeroLifetime.useOnce
    /// How long one token request may take.
    ///
    /// Default 10 s.
    public var requestTimeout: Duration = .seconds(10)
    /// How long a request waits for a token.
    ///
    /// Default 15 s; its own deadline counts too.
    public var waitTimeout: Duration = .seconds(15)
    /// How long a request without a token waits behind a failed attempt for the next one.
    ///
    /// It fails at once if the back-off ends later than that. Default 5 s; zero never waits.
    public var failurePatience: Duration = .seconds(5)
    /// How many requests may wait for a token.
    ///
    /// Default 4096, the default limit of connections.
    public var waiterLimit = 4096
    /// What to do after a lost answer.
    ///
    /// Default: repeat within 30 s.
    public var lostResponse = LostResponse.repeatWithin(.seconds(30))
    /// How many renewals are too many; nothing switches the guard off.
    ///
    /// Default 5 in 30 s.
    public var excessGuard: ExcessGuard? = ExcessGuard()
    /// The longest `Retry-After` that is honoured.
    ///
    /// Default 5 min.
    public var retryAfterLimit: Duration = .seconds(300)
    /// Whether secrets may go to an `http` token endpoint that is not loopback.
    ///
    /// Default no.
    public var allowsInsecure = false

    /// Describes a grant; what has no parameter here starts with its default.
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

/// One parameter of a form (`application/x-www-form-urlencoded`).
public struct FormParameter: Sendable, Hashable {
    /// The name.
    public var name: String
    /// The value; an empty one counts as absent (RFC 6749 §3.2).
    public var value: String

    /// Makes a parameter.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

extension OAuthConfiguration {
    /// Who asks whom: a stored refresh token is presented to nobody else.
    package var authority: String {
        "\(clientID)@\(tokenEndpoint.origin)\(tokenEndpoint.target)"
    }

    /// Everything that shapes an access token, and whose it is.
    ///
    /// Tokens are shared under equal keys only.
    package var credentialKey: String {
        var parts = scopes.sorted().map { FormParameter("scope", $0) }
        if let audience { parts.append(FormParameter("audience", audience)) }
        parts += resources.sorted().map { FormParameter("resource", $0) }
        parts += parameters.sorted { ($0.name, $0.value) < ($1.name, $1.value) }
        switch grant {
        // Whoever signed in is somebody else than the client by itself.
        case .clientCredentials: parts.append(FormParameter("grant", "client_credentials"))
        case .refreshToken: break
        case .provided(let provider): parts.append(FormParameter("grant", provider.identity))
        }
        if let proof { parts.append(FormParameter("dpop_jkt", proof.thumbprint)) }
        return FormEncoding.encode(parts)
    }

    /// Whether a record descends from the refresh token that is configured now, if one is: another
    /// one may be another person's.
    package func isOfConfiguredSeed(_ record: TokenRecord) -> Bool {
        guard case .refreshToken(let seed?) = grant else { return true }
        return record.seed == TokenRecord.fingerprint(seed)
    }

    /// How long a token lives, as far as the server or the configuration say.
    func lifetime(of response: TokenResponse) -> Duration? {
        let told = response.lifetime == .zero && zeroLifetime == .unknown ? nil : response.lifetime
        return told ?? defaultLifetime
    }

    /// Whom and what the token should be good for, as form parameters.
    var targets: [FormParameter] {
        let audience = audience.map { [FormParameter("audience", $0)] } ?? []
        return audience + resources.map { FormParameter("resource", $0) } + parameters
    }

    /// What a server may repeat in its words, and nobody else should.
    var secrets: [Secret] { clientSecret.map { [$0] } ?? [] }
}
