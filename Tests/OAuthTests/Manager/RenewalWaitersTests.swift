import NetworkCore
import OAuth
import TestSupport
import Testing

/// The cases that Alamofire's authentication interceptor tests, before sending (a request needs a
/// token) and after a 401 (a request was refused).
@Suite struct RenewalWaitersTests {
    private let error503 = AuthorizationServerModel.Mishap.respond(503, "", [:])

    private func refresh(_ store: MemoryTokenStore? = nil) -> OAuthHarness {
        OAuthHarness(grant: .refreshToken(initial: Secret("initial")), store: store)
    }

    @Test func `before sending, all who wait get the error of the renewal`() async throws {
        let harness = OAuthHarness()
        harness.server.script(error503)
        harness.server.gate.close()
        async let errors = withTaskGroup { group in
            for _ in 0..<8 { group.addTask { await harness.failure()?.detail } }
            return await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(await eventually { await harness.manager.status().waiters == 8 })
        harness.server.gate.open()
        let details = await errors
        #expect(details.count == 1)
        #expect(details.first??.contains("503") == true)
        #expect(harness.requests == 1)
    }

    @Test func `incoming requests wait for one renewal`() async throws {
        let harness = OAuthHarness()
        harness.server.gate.close()
        async let tokens = withThrowingTaskGroup { group in
            for _ in 0..<8 { group.addTask { try await harness.token() } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(await eventually { await harness.manager.status().waiters == 8 })
        harness.server.gate.open()
        #expect(try await tokens == ["Bearer access-1"])
        #expect(harness.requests == 1)
    }

    @Test func `without a response nothing is renewed`() async throws {
        let harness = OAuthHarness()
        let chain = RequestChain(
            [
                ReauthorizationInterceptor(authorizer: harness.manager),
                AuthorizationInterceptor(
                    authorizer: harness.manager,
                    origins: [OAuthHarness.apiOrigin]
                ),
            ],
            transport: BrokenWire()
        )
        var context = RequestContext()
        await #expect(throws: NetworkError.self) {
            try await chain.send(
                Request(origin: OAuthHarness.apiOrigin, target: "/"),
                context: &context
            )
        }
        #expect(harness.requests == 1)
        #expect(context.retries.isEmpty)
    }

    @Test(arguments: [400, 403, 404, 407, 500] as [HTTPStatus])
    func `a response that does not refuse the token renews nothing`(_ status: HTTPStatus)
        async throws
    {
        let harness = OAuthHarness()
        let chain = RequestChain(
            [
                ReauthorizationInterceptor(authorizer: harness.manager),
                AuthorizationInterceptor(
                    authorizer: harness.manager,
                    origins: [OAuthHarness.apiOrigin]
                ),
            ],
            transport: FixedAnswer(status: status)
        )
        var context = RequestContext()
        let response = try await chain.send(
            Request(origin: OAuthHarness.apiOrigin, target: "/"),
            context: &context
        )
        #expect(response.status == status)
        #expect(harness.requests == 1)
    }

    @Test func `before sending, a missing credential is an error that names the sign-in`() async {
        let harness = OAuthHarness(grant: .refreshToken(initial: nil))
        let error = await harness.failure()
        #expect(error?.kind == .reauthorizationRequired)
        #expect(error?.detail.contains("sign in") == true)
        #expect(harness.requests == 0)
    }

    @Test func `after a 401, a missing credential passes the 401 on`() async throws {
        let store = MemoryTokenStore()
        let harness = refresh(store)
        _ = try await harness.token()
        // Signed out: no refresh token is configured.
        let other = OAuthHarness(grant: .refreshToken(initial: nil), store: MemoryTokenStore())
        #expect(await other.reject(1) == .passThrough(.reauthorizationRequired))
        #expect(other.requests == 0)
    }

    @Test func `a request with an outdated credential is sent again without a renewal`()
        async throws
    {
        let harness = OAuthHarness()
        _ = try await harness.token()
        #expect(await harness.reject(1) == .replay)
        #expect(await harness.reject(1) == .replay)
        #expect(harness.requests == 2)
    }

    @Test func `a token endpoint that responds immediately causes no deadlock`() async throws {
        let manager = OAuthManager(
            service: InstantService(),
            tokenStore: MemoryTokenStore(),
            configuration: OAuthHarness.configuration(.clientCredentials)
        )
        let first = try await manager.credential(until: nil)
        #expect(first.generation == 1)
        let verdict = await manager.rejected(
            Rejection(generation: 1, headers: [.wwwAuthenticate: "Bearer"], intent: .replay)
        )
        // It returns the same token again.
        #expect(verdict == .passThrough(.sameToken))
    }

    @Test func `after a 401, all who wait get the error of the renewal`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.script(error503)
        harness.server.gate.close()
        async let verdicts = withTaskGroup { group in
            for _ in 0..<8 { group.addTask { await harness.reject(1) } }
            return await group.reduce(into: [Verdict]()) { $0.append($1) }
        }
        #expect(await eventually { await harness.manager.status().waiters == 8 })
        harness.server.gate.open()
        #expect(await verdicts.allSatisfy { $0 == .passThrough(.refreshFailed) })
        #expect(harness.requests == 2)
    }

    @Test func `after a failure new requests may renew again`() async throws {
        let harness = OAuthHarness()
        harness.server.script(error503)
        #expect(await harness.failure() != nil)
        harness.clock.advance(by: .seconds(61))
        #expect(try await harness.token() == "Bearer access-1")
    }

    @Test func `parallel 401s make one renewal`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.gate.close()
        async let verdicts = withTaskGroup { group in
            for _ in 0..<5 { group.addTask { await harness.reject(1) } }
            return await group.reduce(into: [Verdict]()) { $0.append($1) }
        }
        #expect(await eventually { await harness.manager.status().waiters == 5 })
        harness.server.gate.open()
        #expect(await verdicts.allSatisfy { $0 == .replay })
        #expect(harness.requests == 2)
    }
}

/// No response arrives.
private struct BrokenWire: HTTPTransport {
    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        throw NetworkError(.connectionTerminated, side: .upstream, detail: "gone")
    }
}

/// Returns one token without a suspension.
private struct InstantService: OAuthService {
    func tokens(
        for grant: TokenGrant,
        configuration: OAuthConfiguration,
        deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> TokenResponse {
        TokenResponse(accessToken: Secret("instant"), lifetime: .seconds(3600))
    }
}
