import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

@Suite struct Replays {
    @Test(arguments: [nil, 9] as [Int?])
    func `a small streamed body is replayed intact`(_ length: Int?) async throws {
        let authorizer = TurnstileAuthorizer()
        let upstream = Upstream.accepting { $0 == "Bearer 2" }
        let body = HTTPBody.stream(PiecedBody(["one", "two", "six"]), length: length)
        let (response, context) = try await RequestChain.authorized(by: authorizer, upstream)
            .exchange(.forTests(.post, body: body))
        #expect(response.status == 200)
        #expect(upstream.arrived.map(\.token) == ["Bearer 1", "Bearer 2"])
        #expect(upstream.arrived.map(\.body) == ["onetwosix", "onetwosix"])
        #expect(upstream.arrived.map(\.request.body.length) == [length, length])
        #expect(context.retries == [.unauthorized])
        #expect(context.authorization?.isRefreshed == true)
        #expect(context.authorization?.notReplayed == nil)
    }

    @Test func `a body in memory is replayed unchanged`() async throws {
        let upstream = Upstream.accepting { $0 == "Bearer 2" }
        _ = try await RequestChain.authorized(by: TurnstileAuthorizer(), upstream, replayLimit: 0)
            .exchange(.forTests(.post, body: .bytes(ByteSlice("here"))))
        #expect(upstream.arrived.map(\.body) == ["here", "here"])
    }

    @Test func `a replay waits at most one second for the content of the 401`() async throws {
        let clock = ManualClock()
        let stalled = StalledBody("no")
        let upstream = Upstream { arrived, _ in
            if arrived.token == "Bearer 2" { return Response(status: 200) }
            return Response(status: 401, body: .stream(stalled, length: nil))
        }
        let chain = RequestChain.authorized(by: TurnstileAuthorizer(clock: clock), upstream)
        async let answer = chain.exchange(.forTests())
        await clock.untilSomebodySleeps()
        clock.advance(by: .seconds(1))
        #expect(try await answer.0.status == 200)
        #expect(stalled.isGivenUp)
    }

    @Test func `a replay also waits one second for a source that ignores cancellation`()
        async throws
    {
        let clock = ManualClock()
        let upstream = Upstream { arrived, _ in
            if arrived.token == "Bearer 2" { return Response(status: 200) }
            return Response(status: 401, body: .stream(DeafBody(), length: nil))
        }
        let chain = RequestChain.authorized(by: TurnstileAuthorizer(clock: clock), upstream)
        async let answer = chain.exchange(.forTests())
        await clock.untilSomebodySleeps()
        clock.advance(by: .seconds(1))
        #expect(try await answer.0.status == 200)
    }

    @Test func `a body of exactly the limit is replayed`() async throws {
        let upstream = Upstream.accepting { $0 == "Bearer 2" }
        let body = HTTPBody.stream(PiecedBody(["four", "more"]), length: nil)
        _ =
            try await RequestChain
            .authorized(by: TurnstileAuthorizer(), upstream, replayLimit: 8)
            .exchange(.forTests(.post, body: body))
        #expect(upstream.arrived.map(\.body) == ["fourmore", "fourmore"])
    }

    @Test func `a body above the limit returns the 401`() async throws {
        let authorizer = TurnstileAuthorizer()
        let upstream = Upstream { _, _ in
            Response(status: 401, body: .bytes(ByteSlice("the origin's words")))
        }
        let body = HTTPBody.stream(PiecedBody(["four", "more", "!"]), length: nil)
        let (response, context) =
            try await RequestChain
            .authorized(by: authorizer, upstream, replayLimit: 8)
            .exchange(.forTests(.post, body: body))
        #expect(response.status == 401)
        #expect(
            try await response.body.collect(upTo: 100).array == Array("the origin's words".utf8)
        )
        #expect(upstream.arrived.map(\.body) == ["fourmore!"])
        #expect(context.authorization?.notReplayed?.rawValue == "body_not_replayable")
        #expect(context.retries.isEmpty)
        // The credential is still renewed, so that the client's next attempt succeeds.
        #expect(authorizer.calls == ["report body_not_replayable 1"])
    }

    @Test func `without replays, a 401 renews the token for the next request`()
        async throws
    {
        let authorizer = TurnstileAuthorizer()
        let upstream = Upstream.accepting { $0 == "Bearer 2" }
        let chain = RequestChain.authorized(by: authorizer, upstream, replays: false)
        let (refused, context) = try await chain.exchange()
        #expect(refused.status == 401)
        #expect(context.authorization?.notReplayed?.rawValue == "replay_off")
        #expect(context.retries.isEmpty)
        #expect(authorizer.calls == ["report replay_off 1"])
        let body = HTTPBody.stream(PiecedBody(["one", "two"]), length: nil)
        #expect(try await chain.exchange(.forTests(.post, body: body)).0.status == 200)
        #expect(upstream.arrived.map(\.token) == ["Bearer 1", "Bearer 2"])
    }

    @Test(arguments: [0, 1, 2])
    func `a replay sends the recorded pieces and then the rest`(_ read: Int) async throws {
        let origin = HastyOrigin(pieces: read)
        let body = HTTPBody.stream(PiecedBody(["one", "two", "six"]), length: 9)
        let (response, _) = try await RequestChain.authorized(by: TurnstileAuthorizer(), origin)
            .exchange(.forTests(.post, body: body))
        #expect(response.status == 200)
        #expect(origin.second == "onetwosix")
    }

    @Test func `a body truncated by the client is not replayed`() async throws {
        let fault = NetworkError(.connectionTerminated, side: .downstream, detail: "cut short")
        let chain = RequestChain.authorized(by: TurnstileAuthorizer(), FaultTolerantOrigin())
        let body = HTTPBody.stream(PiecedBody(["one"], fault: fault), length: 9)
        let (response, context) = try await chain.exchange(.forTests(.post, body: body))
        #expect(response.status == 401)
        #expect(context.authorization?.notReplayed?.rawValue == "body_not_replayable")
    }

    @Test func `the replay drops Expect`() async throws {
        let upstream = Upstream.accepting { $0 == "Bearer 2" }
        let headers: HTTPHeaders = [.expect: "100-continue", "X-Other": "kept"]
        let body = HTTPBody.stream(PiecedBody(["one"]), length: 3)
        _ = try await RequestChain.authorized(by: TurnstileAuthorizer(), upstream)
            .exchange(.forTests(.post, headers: headers, body: body))
        #expect(upstream.arrived.map { $0.request.headers[.expect] } == ["100-continue", nil])
        #expect(upstream.arrived.map { $0.request.headers["X-Other"] } == ["kept", "kept"])
    }
}

@Suite struct Rejections {
    @Test func `a second 401 is returned unchanged`() async throws {
        let authorizer = TurnstileAuthorizer()
        let upstream = Upstream { _, earlier in
            Response(status: 401, headers: ["X-Number": "\(earlier + 1)"])
        }
        let (response, context) = try await RequestChain.authorized(by: authorizer, upstream)
            .exchange()
        #expect(response.status == 401)
        #expect(response.headers["X-Number"] == "2")
        #expect(upstream.arrived.count == 2)
        #expect(authorizer.calls == ["replay 1", "afterReplay 2"])
        #expect(context.authorization?.notReplayed?.rawValue == "already_replayed")
    }

    @Test(arguments: [200, 400, 403, 407, 500] as [HTTPStatus])
    func `only a 401 is passed to the authorizer`(_ status: HTTPStatus) async throws {
        let authorizer = TurnstileAuthorizer()
        let upstream = Upstream { _, _ in
            Response(status: status, headers: [.wwwAuthenticate: #"Bearer error="invalid_token""#])
        }
        let (response, context) = try await RequestChain.authorized(by: authorizer, upstream)
            .exchange()
        #expect(response.status == status)
        #expect(upstream.arrived.count == 1)
        #expect(authorizer.calls.isEmpty)
        #expect(context.authorization?.notReplayed == nil)
    }

    @Test func `the authorizer's reason is kept if it passes the 401 through`() async throws {
        let authorizer = TurnstileAuthorizer(verdict: .passThrough(.insufficientScope))
        let upstream = Upstream.accepting { _ in false }
        let (response, context) = try await RequestChain.authorized(by: authorizer, upstream)
            .exchange()
        #expect(response.status == 401)
        #expect(upstream.arrived.count == 1)
        #expect(context.authorization?.notReplayed?.rawValue == "insufficient_scope")
        #expect(context.authorization?.isRefreshed == false)
    }

    @Test(arguments: [
        ErrorKind.credentialUnavailable, .reauthorizationRequired, .httpResponseTimeout,
    ])
    func `if the token expires before the replay, the first 401 is returned`(
        kind: ErrorKind
    ) async throws {
        let authorizer = LapsingAuthorizer(kind)
        let upstream = Upstream { _, _ in
            Response(status: 401, body: .bytes(ByteSlice("the origin's words")))
        }
        let (response, context) = try await RequestChain.authorized(by: authorizer, upstream)
            .exchange()
        #expect(response.status == 401)
        #expect(
            try await response.body.collect(upTo: 100).array == Array("the origin's words".utf8)
        )
        #expect(upstream.arrived.count == 1)
        #expect(authorizer.rejections == 1)
        #expect(context.authorization?.notReplayed?.rawValue == "refresh_failed")
        // No further attempt was made.
        #expect(context.retries.isEmpty && context.earlierAttempts.isEmpty)
        #expect(context.upstreamStatus == 401)
    }

    @Test func `a canceled caller closes the 401 while the token is renewed`()
        async throws
    {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.gate.close()
        let body = StalledBody()
        let upstream = Upstream { _, _ in
            Response(status: 401, body: .stream(body, length: nil))
        }
        let chain = RequestChain.authorized(by: harness.manager, upstream)
        let exchange = Task { try await chain.exchange().0.status }
        #expect(await eventually { await harness.manager.status().waiters == 1 })
        exchange.cancel()
        #expect(await networkError { try await exchange.value }?.kind == .cancelled)
        #expect(body.isGivenUp)
        harness.server.gate.open()
    }

    @Test func `the authorizer receives the challenges of all lines`() async throws {
        let authorizer = TurnstileAuthorizer(verdict: .passThrough(.excess))
        let upstream = Upstream { _, _ in
            Response(
                status: 401,
                headers: [.wwwAuthenticate: "Basic realm=\"a\"", "www-authenticate": "Bearer"]
            )
        }
        _ = try await RequestChain.authorized(by: authorizer, upstream).exchange()
        #expect(authorizer.challenges == ["Basic realm=\"a\"", "Bearer"])
    }

    @Test func `a 401 for the client's own credential is not replayed`() async throws {
        let authorizer = TurnstileAuthorizer()
        let upstream = Upstream.accepting { _ in false }
        let chain = RequestChain(
            [
                ReauthorizationInterceptor(authorizer: authorizer),
                AuthorizationInterceptor(
                    authorizer: authorizer,
                    origins: [Origin(scheme: .https, host: "api.example")],
                    onClientCredential: .keep
                ),
            ],
            transport: upstream
        )
        let request = Request.forTests(headers: [.authorization: "Bearer own"])
        let (response, context) = try await chain.exchange(request)
        #expect(response.status == 401)
        #expect(upstream.arrived.map(\.token) == ["Bearer own"])
        #expect(authorizer.calls.isEmpty)
        #expect(context.authorization == nil)
    }
}

/// Issues `Bearer 1`, and the next number after each rejection.
private final class TurnstileAuthorizer: Authorizing {
    private struct State {
        var generation = 1
        var calls: [String] = []
        var challenges: [String] = []
    }

    let kind = "stub"
    let fieldName = HTTPFieldName.authorization
    let clock: any NetworkClock
    private let verdict: Verdict
    private let state = Mutex(State())

    init(verdict: Verdict = .replay, clock: any NetworkClock = SystemClock()) {
        self.verdict = verdict
        self.clock = clock
    }

    var calls: [String] { state.withLock { $0.calls } }
    var challenges: [String] { state.withLock { $0.challenges } }

    func currentCredential() -> Credential? {
        let generation = state.withLock { $0.generation }
        return Credential(.authorization, Secret("Bearer \(generation)"), generation: generation)
    }

    func credential(until deadline: ContinuousClock.Instant?) async throws -> Credential {
        try #require(currentCredential())
    }

    func rejected(_ rejection: Rejection) async -> Verdict {
        state.withLock { state in
            let intent =
                switch rejection.intent {
                case .replay: "replay"
                case .report(let reason): "report \(reason.rawValue)"
                case .afterReplay: "afterReplay"
                }
            state.calls.append("\(intent) \(rejection.generation ?? 0)")
            state.challenges += rejection.headers.values(of: .wwwAuthenticate)
            state.generation += 1
        }
        return verdict
    }
}

/// Responds with 401 after some pieces of the first body, and reads the second body completely.
private final class HastyOrigin: HTTPTransport {
    private let pieces: Int
    private let bodies = Mutex<[String]>([])

    init(pieces: Int) {
        self.pieces = pieces
    }

    var second: String? { bodies.withLock { $0.count == 2 ? $0[1] : nil } }

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        guard bodies.withLock({ $0.isEmpty }) else {
            let body = try await request.body.collect(upTo: 1 << 20)
            bodies.withLock { $0.append(String(decoding: body.array, as: UTF8.self)) }
            return Response(status: 200)
        }
        bodies.withLock { $0.append("") }
        if case .stream(let source, _) = request.body {
            for _ in 0..<pieces { _ = try await source.next() }
            source.cancel()
        }
        return Response(status: 401)
    }
}

/// Responds with 401 even if the body ends early.
private struct FaultTolerantOrigin: HTTPTransport {
    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        _ = try? await request.body.collect(upTo: 1 << 20)
        return Response(status: 401)
    }
}
