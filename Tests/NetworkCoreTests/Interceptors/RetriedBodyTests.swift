import NetworkCore
import Synchronization
import TestSupport
import Testing

/// Tests of streamed bodies that are kept for a retry.
@Suite struct RetriedBodies {
    private func retrying(
        limit: Int = 64 * 1024,
        attempts: Int = 2,
        budget: RetryBudget = RetryBudget()
    ) -> RetryInterceptor {
        var policy = RetryPolicy()
        policy.base = .zero
        policy.retries = attempts
        return RetryInterceptor(policy: policy, budget: budget, replayLimit: limit)
    }

    private func chain(
        _ upstream: any HTTPTransport,
        limit: Int = 64 * 1024,
        attempts: Int = 2,
        budget: RetryBudget = RetryBudget()
    ) -> RequestChain {
        RequestChain(
            [retrying(limit: limit, attempts: attempts, budget: budget)],
            transport: upstream
        )
    }

    private func request(
        _ method: HTTPMethod = .put,
        _ source: any BodySource = PiecedBody(["one", "two"]),
        headers: HTTPHeaders = [:]
    ) -> Request {
        .forTests(method, headers: headers, body: .stream(source, length: 6))
    }

    private static func busy(_ number: Int) -> Response {
        Response(status: number == 0 ? 503 : 200)
    }

    @Test(
        arguments: [
            (.put, 2), (.delete, 2), (.get, 2), (.options, 2), (.post, 1), (.patch, 1),
        ] as [(HTTPMethod, Int)]
    )
    func `a stream is sent again after a status if the method is idempotent`(
        method: HTTPMethod,
        count: Int
    ) async throws {
        let upstream = Upstream { _, earlier in RetriedBodies.busy(earlier) }
        let (response, context) = try await chain(upstream).exchange(request(method))
        #expect(response.status == (count == 2 ? 200 : 503))
        #expect(upstream.arrived.map(\.body) == Array(repeating: "onetwo", count: count))
        #expect(upstream.arrived.allSatisfy { $0.request.body.length == 6 })
        #expect(context.retries == Array(repeating: .status(503), count: count - 1))
    }

    @Test func `a stream with an idempotency key is sent again`() async throws {
        let upstream = Upstream { _, earlier in RetriedBodies.busy(earlier) }
        let keyed = request(.post, headers: ["Idempotency-Key": "8e03978e"])
        let (response, _) = try await chain(upstream).exchange(keyed)
        #expect(response.status == 200)
        #expect(upstream.arrived.map(\.body) == ["onetwo", "onetwo"])
    }

    @Test(arguments: [(.put, 2), (.post, 1)] as [(HTTPMethod, Int)])
    func `a stream is sent again after a dead connection if the method is idempotent`(
        method: HTTPMethod,
        count: Int
    ) async {
        let upstream = Upstream { _, earlier in
            guard earlier == 0 else { return Response(status: 200) }
            throw NetworkError(
                .connectionTerminated,
                side: .upstream,
                retry: .idempotentOnly,
                detail: "the pooled connection was dead"
            )
        }
        let fault = await networkError { try await chain(upstream).exchange(request(method)).0 }
        #expect(fault?.kind == (count == 2 ? nil : .connectionTerminated))
        #expect(upstream.arrived.map(\.body) == Array(repeating: "onetwo", count: count))
    }

    @Test(arguments: [(0, 1), (5, 1), (6, 2)])
    func `a stream above the limit is sent once, complete`(limit: Int, count: Int) async throws {
        let upstream = Upstream { _, earlier in RetriedBodies.busy(earlier) }
        let budget = RetryBudget(share: 0)
        let (_, context) = try await chain(upstream, limit: limit, budget: budget)
            .exchange(request())
        #expect(upstream.arrived.map(\.body) == Array(repeating: "onetwo", count: count))
        // A body that cannot be sent again takes nothing from the budget.
        #expect(!context.retries.contains(.budgetExhausted))
    }

    @Test(arguments: [true, false])
    func `a body is not recorded if no retry is allowed`(_ isCallsOwn: Bool) async throws {
        let upstream = Upstream { arrived, _ in
            #expect(ReplayBuffer.recording(arrived.request.body) === nil)
            return Response(status: 503)
        }
        var context = RequestContext()
        if isCallsOwn { context.retryLimit = 0 }
        _ = try await chain(upstream, attempts: isCallsOwn ? 2 : 0)
            .send(request(), context: &context)
        #expect(upstream.arrived.map(\.body) == ["onetwo"])
    }

    @Test func `an attempt that read none of the body leaves Expect to the next`()
        async throws
    {
        let origin = ReluctantOrigin(reads: [0, 1, 2])
        let headers: HTTPHeaders = [.expect: "100-continue"]
        let (response, _) = try await chain(origin).exchange(request(headers: headers))
        #expect(response.status == 200)
        #expect(origin.expectations == ["100-continue", "100-continue", nil])
        #expect(origin.bodies == ["", "one", "onetwo"])
    }

    @Test func `a body canceled unread is not sent again`() async throws {
        let origin = ReluctantOrigin(reads: [0, 2])
        let chain = RequestChain([retrying(), Insistent()], transport: origin)
        let (response, _) = try await chain.exchange(request(.post))
        #expect(response.status == 503)
        #expect(origin.bodies == [""])
    }

    @Test func `a body truncated by the client is not sent again`() async throws {
        let cut = NetworkError(.connectionTerminated, side: .downstream, detail: "cut short")
        let upstream = Upstream { _, _ in Response(status: 200) }
        let source = PiecedBody(["one"], fault: cut)
        let fault = await networkError {
            try await chain(upstream).exchange(request(.put, source)).0
        }
        #expect(fault?.side == .downstream)
        #expect(upstream.arrived.isEmpty)
    }

    @Test func `the final response cancels the rest of the source`() async throws {
        let source = PieceSource(["one", "two"])
        let origin = ReluctantOrigin(reads: [1, 1, 1], isWilling: false)
        let (response, _) = try await chain(origin).exchange(request(.put, source))
        #expect(response.status == 503)
        #expect(origin.bodies == ["one", "one", "one"])
        #expect(source.isCancelled)
    }

    @Test func `reauthorization uses the same copy`() async throws {
        let tokens = WillingAuthorizer()
        let upstream = Upstream { _, earlier in Response(status: [401, 503, 401][earlier]) }
        let chain = RequestChain(
            [
                retrying(limit: 6), ReauthorizationInterceptor(authorizer: tokens, replayLimit: 6),
                AuthorizationInterceptor(
                    authorizer: tokens,
                    origins: [Origin(scheme: .https, host: "api.example")]
                ),
            ],
            transport: upstream
        )
        let (response, context) = try await chain.exchange(request())
        #expect(context.retries == [.unauthorized, .status(503)])
        // One replay for each exchange.
        #expect(response.status == 401)
        let buffers = upstream.arrived.map { ReplayBuffer.recording($0.request.body) }
        #expect(!buffers.contains { $0 !== buffers[0] || $0 == nil })
        #expect(upstream.arrived.map(\.body) == ["onetwo", "onetwo", "onetwo"])
    }
}

extension HTTPBody {
    fileprivate var source: (any BodySource)? {
        guard case .stream(let source, _) = self else { return nil }
        return source
    }
}

/// Reads the given number of pieces in each attempt and responds with 503, or 200 for the last attempt.
private final class ReluctantOrigin: HTTPTransport {
    private struct State {
        var expectations: [String?] = []
        var bodies: [String] = []
    }

    private let reads: [Int]
    private let isWilling: Bool
    private let state = Mutex(State())

    init(reads: [Int], isWilling: Bool = true) {
        self.reads = reads
        self.isWilling = isWilling
    }

    var expectations: [String?] { state.withLock { $0.expectations } }
    var bodies: [String] { state.withLock { $0.bodies } }

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        let number = bodies.count
        var text = ""
        for _ in 0..<reads[number] {
            guard let piece = try await request.body.source?.next() else { break }
            text += String(decoding: piece.array, as: UTF8.self)
        }
        request.body.cancel()
        state.withLock { state in
            state.bodies.append(text)
            state.expectations.append(request.headers[.expect])
        }
        return Response(status: isWilling && number == reads.count - 1 ? 200 : 503)
    }
}

/// Sends every request a second time if possible.
private struct Insistent: RequestInterceptor {
    func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        let first = try await next.send(request, context: &context)
        guard let again = request.again() else { return first }
        return try await next.send(again, context: &context)
    }
}
