import NetworkCore
import OAuth
import TestSupport
import Testing

/// Tokens bound to a key (DPoP, RFC 9449), through the whole engine.
@Suite struct BoundTokenTests {
    @Test func `an unbound token of another service is not used`() async throws {
        struct Unbound: OAuthService {
            func tokens(
                for grant: TokenGrant,
                configuration: OAuthConfiguration,
                deadline: ContinuousClock.Instant
            ) async throws(TokenFailure) -> TokenResponse {
                TokenResponse(accessToken: Secret("t"), lifetime: .seconds(60))
            }
        }
        var configuration = OAuthHarness.configuration(.clientCredentials)
        configuration.proof = ProofOfPossession(key: try SigningKey(pem: SampleKeys.p256))
        let manager = OAuthManager(
            service: Unbound(),
            tokenStore: MemoryTokenStore(),
            configuration: configuration,
            clock: ManualClock()
        )
        let error = await #expect(throws: NetworkError.self) {
            try await manager.credential(until: nil)
        }
        #expect(error?.kind == .credentialUnavailable)
        #expect(manager.currentCredential() == nil)
    }

    @Test func `token request and requests each carry their own proof`() async throws {
        let session = try BoundSession()
        let request = Request(
            origin: BoundSession.api,
            target: "/orders?x=1",
            headers: [.dpop: "the app's own", .authorization: "Bearer app"]
        )
        for _ in 0..<2 { #expect(try await session.send(request).response.status == 200) }
        let asked = try #require(session.login.arrived.first).request
        let first = try Proof(asked.headers[.dpop])
        #expect(first.claims["htm"] as? String == "POST")
        #expect(first.claims["htu"] as? String == "https://login.example.com/token")
        #expect(first.claims["ath"] == nil)
        let sent = session.origin.arrived.map(\.request.headers)
        #expect(sent.allSatisfy { $0.values(of: .authorization) == ["DPoP token-1"] })
        #expect(sent.allSatisfy { $0.values(of: .dpop).count == 1 })
        let proofs = try sent.map { try Proof($0[.dpop]) }
        #expect(
            proofs.allSatisfy { $0.claims["htu"] as? String == "https://api.example.com/orders" }
        )
        #expect(proofs.allSatisfy { $0.claims["ath"] != nil })
        #expect(Set(proofs.map { $0.claims["jti"] as? String }).count == 2)
        #expect(session.login.arrived.count == 1)
    }

    @Test func `a nonce from the token endpoint is sent with the next request`() async throws {
        let session = try BoundSession(login: { arrived, count in
            try BoundSession.demanding("n\(count / 2)", of: arrived)
                ?? BoundSession.token(count, nonce: "n\(count / 2 + 1)")
        })
        #expect(try await session.send().response.status == 200)
        #expect(session.login.arrived.count == 2)
        // The successful response named the next one already.
        session.clock.advance(by: .seconds(3600))
        #expect(try await session.send().response.status == 200)
        #expect(session.login.arrived.count == 3)
    }

    @Test func `a token endpoint that keeps refusing proofs gets two requests, and more later`()
        async throws
    {
        let session = try BoundSession(login: { _, count in
            BoundSession.refusal(400, #"{"error":"use_dpop_nonce"}"#, nonce: "n\(count)")
        })
        let error = await networkError { try await session.send().response }
        #expect(error?.kind == .credentialUnavailable)
        #expect(session.login.arrived.count == 2)
    }

    @Test func `a grant is presented again with the nonce within one request for tokens`()
        async throws
    {
        let clock = ManualClock()
        var configuration = OAuthHarness.configuration(.clientCredentials)
        let key = try SigningKey(pem: SampleKeys.p256)
        configuration.proof = ProofOfPossession(key: key, clock: clock)
        let login = Upstream { arrived, count in
            try BoundSession.demanding("n1", of: arrived) ?? BoundSession.token(count, nonce: nil)
        }
        let answer = try await TokenEndpointClient(transport: login, clock: clock).tokens(
            for: .refreshToken(Secret("r")),
            configuration: configuration,
            deadline: clock.now + .seconds(10)
        )
        #expect(answer.accessToken == Secret("token-2"))
        #expect(login.arrived.count == 2)
    }

    /// The identifiers of the assertions that arrived.
    private func assertions(_ login: Upstream) throws -> [String] {
        try login.arrived.map { arrived in
            let form = FormDecoding.decode(arrived.body)
            let assertion = try #require(form.first { $0.name == "assertion" }?.value)
            return try #require(try SignedToken(Secret(assertion)).claims["jti"] as? String)
        }
    }

    private func assertionGrant() throws -> OAuthConfiguration.Grant {
        let key = try SigningKey(pem: SampleKeys.p256)
        return .provided(AssertionGrant(key: key, issuer: "app", subject: "alice"))
    }

    @Test func `a new assertion goes with the nonce from the token endpoint`()
        async throws
    {
        let session = try BoundSession(
            grant: try assertionGrant(),
            login: { arrived, count in
                try BoundSession.demanding("n1", of: arrived)
                    ?? BoundSession.token(count, nonce: nil)
            }
        )
        #expect(try await session.send().response.status == 200)
        let sent = try assertions(session.login)
        #expect(sent.count == 2)
        #expect(Set(sent).count == 2)
    }

    @Test func `a token endpoint that keeps refusing proofs gets two assertions`() async throws {
        let session = try BoundSession(
            grant: try assertionGrant(),
            login: { _, count in
                BoundSession.refusal(400, #"{"error":"use_dpop_nonce"}"#, nonce: "n\(count)")
            }
        )
        let error = await networkError { try await session.send().response }
        #expect(error?.kind == .credentialUnavailable)
        let sent = try assertions(session.login)
        #expect(sent.count == 2)
        #expect(Set(sent).count == 2)
    }

    @Test func `a nonce from the API costs a replay and no token`() async throws {
        let session = try BoundSession(origin: { arrived, _ in
            try BoundSession.challenging("r1", arrived) ?? Response(status: 200)
        })
        let (response, context) = try await session.send()
        #expect(response.status == 200)
        #expect(context.retries == [.proof])
        #expect(context.authorization?.isRefreshed == true, "the first token was waited for")
        #expect(session.login.arrived.count == 1)
        let (_, next) = try await session.send()
        #expect(next.retries == [])
        #expect(next.authorization?.isRefreshed == false)
    }

    @Test func `a body is sent again with the new proof`() async throws {
        let session = try BoundSession(origin: { arrived, _ in
            try BoundSession.challenging("r1", arrived) ?? Response(status: 200)
        })
        let body = HTTPBody.stream(PiecedBody(["one ", "two"]), length: nil)
        let request = Request(method: .post, origin: BoundSession.api, target: "/", body: body)
        #expect(try await session.send(request).response.status == 200)
        #expect(session.origin.arrived.map(\.body) == ["one two", "one two"])
    }

    @Test(arguments: [[RetryReason.proof, .unauthorized], [.unauthorized, .proof]])
    func `proof and token may be refused one after the other`(order: [RetryReason]) async throws {
        let session = try BoundSession(origin: { arrived, count in
            guard count < order.count else { return Response(status: 200) }
            let error = order[count] == .proof ? "use_dpop_nonce" : "invalid_token"
            return BoundSession.refusal(401, "", nonce: "r\(count)", error: error)
        })
        let (response, context) = try await session.send()
        #expect(response.status == 200)
        #expect(context.retries == order)
        #expect(session.origin.arrived.count == 3)
        #expect(session.login.arrived.count == 2)
    }

    @Test(arguments: ["use_dpop_nonce", "invalid_dpop_proof"])
    func `an API that refuses every proof costs one replay and no token`(error: String) async throws
    {
        let session = try BoundSession(origin: { _, count in
            BoundSession.refusal(401, "", nonce: "r\(count)", error: error)
        })
        let (response, context) = try await session.send()
        #expect(response.status == 401)
        #expect(context.authorization?.notReplayed?.rawValue == "proof_refused")
        #expect(session.origin.arrived.count == 2)
        #expect(session.login.arrived.count == 1)
    }

    @Test func `an unbound token is not used, and its refresh token is kept`() async throws {
        let session = try BoundSession(
            grant: .refreshToken(initial: Secret("first")),
            login: { _, _ in
                BoundSession.refusal(
                    200,
                    #"{"access_token":"t","token_type":"Bearer","refresh_token":"second"}"#,
                    nonce: nil
                )
            }
        )
        let error = await networkError { try await session.send().response }
        #expect(error?.kind == .credentialUnavailable)
        #expect(error?.detail.contains("token_type is Bearer, not DPoP") == true)
        #expect(session.origin.arrived.isEmpty)
        #expect(try await session.store.load()?.refreshToken == Secret("second"))
    }

    @Test func `tokens bound to another key are not adopted`() async throws {
        let first = try BoundSession()
        _ = try await first.send()
        let same = try BoundSession(store: first.store)
        _ = try await same.send()
        #expect(same.login.arrived.isEmpty)
        let other = try BoundSession(key: SampleKeys.ed25519, store: first.store)
        _ = try await other.send()
        #expect(other.login.arrived.count == 1)
    }

    @Test func `a server without the key's algorithm gets no request`() async throws {
        let session = try BoundSession(
            key: SampleKeys.rsa,
            metadata:
                #"{"issuer":"https://login.example.com","dpop_signing_alg_values_supported":["ES256"],"#
                + #""token_endpoint":"https://login.example.com/token"}"#
        )
        let error = await networkError { try await session.send().response }
        #expect(
            error?.detail.contains("the algorithm of dpop_key (RS256); it accepts ES256") == true
        )
        #expect(session.login.arrived.map(\.request.method) == [.get])
    }

    @Test func `a bearer token refused with another scheme is renewed`() async {
        let harness = OAuthHarness()
        _ = try? await harness.token()
        let verdict = await harness.reject(1, challenge: #"DPoP error="invalid_token""#)
        #expect(verdict == .replay)
    }
}

/// A manager with bound tokens, and a scripted authorization server and API.
struct BoundSession {
    static let api = Origin(scheme: .https, host: "api.example.com")

    typealias Answering = @Sendable (Upstream.Arrived, Int) throws -> Response

    let clock = ManualClock()
    let store: any TokenStoring
    let login: Upstream
    let origin: Upstream
    let manager: OAuthManager

    init(
        key: Secret = SampleKeys.p256,
        grant: OAuthConfiguration.Grant = .clientCredentials,
        store: any TokenStoring = MemoryTokenStore(),
        metadata: String? = nil,
        login: @escaping Answering = { _, count in BoundSession.token(count, nonce: nil) },
        origin: @escaping Answering = { _, _ in Response(status: 200) },
        door: Door = Door()
    ) throws {
        self.store = store
        self.login = Upstream { arrived, count in
            guard arrived.request.method == .get else { return try login(arrived, count) }
            return Response(status: 200, body: .bytes(ByteSlice(metadata ?? "")))
        }
        self.origin = Upstream(origin)
        var configuration = OAuthHarness.configuration(grant)
        configuration.proof = ProofOfPossession(key: try SigningKey(pem: key), clock: clock)
        let direct = TokenEndpointClient(
            transport: BehindDoor(server: self.login, door: door),
            clock: clock
        )
        var service: any OAuthService = direct
        if metadata != nil {
            let directory = MetadataDirectory(
                issuer: "https://login.example.com",
                transport: self.login,
                clock: clock
            )
            service = DiscoveringTokenClient(direct, directory: directory)
        }
        manager = OAuthManager(
            service: service,
            tokenStore: store,
            configuration: configuration,
            clock: clock
        )
    }

    func send(
        _ request: Request = Request(origin: BoundSession.api, target: "/")
    ) async throws -> (response: Response, context: RequestContext) {
        var context = RequestContext()
        let response = try await chain(origin).send(request, context: &context)
        return (response, context)
    }

    func chain(_ origin: any HTTPTransport, replayLimit: Int = 64 * 1024) -> RequestChain {
        RequestChain(
            [
                ReauthorizationInterceptor(authorizer: manager, replayLimit: replayLimit),
                AuthorizationInterceptor(authorizer: manager, origins: [BoundSession.api]),
            ],
            transport: origin
        )
    }

    static func token(_ count: Int, nonce: String?) -> Response {
        let text = #"{"access_token":"token-\#(count + 1)","token_type":"DPoP","expires_in":600}"#
        return refusal(200, text, nonce: nonce)
    }

    /// A response with a nonce, and with a challenge if there is an error.
    static func refusal(
        _ status: HTTPStatus,
        _ body: String,
        nonce: String?,
        error: String? = nil
    ) -> Response {
        var headers: HTTPHeaders = [:]
        if let nonce, let field = HTTPField("DPoP-Nonce", nonce) { headers.append(field) }
        if let error, let field = HTTPField(.wwwAuthenticate, "DPoP error=\"\(error)\"") {
            headers.append(field)
        }
        return Response(status: status, headers: headers, body: .bytes(ByteSlice(body)))
    }

    /// The refusal of a token request without the nonce.
    static func demanding(_ nonce: String, of arrived: Upstream.Arrived) throws -> Response? {
        let proof = try Proof(arrived.request.headers[.dpop])
        guard proof.claims["nonce"] as? String != nonce else { return nil }
        return refusal(400, #"{"error":"use_dpop_nonce"}"#, nonce: nonce)
    }

    /// The refusal of a request without the nonce.
    static func challenging(_ nonce: String, _ arrived: Upstream.Arrived) throws -> Response? {
        let proof = try Proof(arrived.request.headers[.dpop])
        guard proof.claims["nonce"] as? String != nonce else { return nil }
        return refusal(401, "", nonce: nonce, error: "use_dpop_nonce")
    }
}
