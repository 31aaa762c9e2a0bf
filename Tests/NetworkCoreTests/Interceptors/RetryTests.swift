import NetworkCore
import NetworkTesting
import Synchronization
import TestSupport
import Testing

@Suite struct Retries {
    @Test func `a safe fault is retried for any method`() async throws {
        let upstream = Upstream { _, earlier in
            if earlier == 0 { throw NetworkError.refused }
            return Response(status: 200)
        }
        let (response, context) = try await RequestChain.retrying(upstream)
            .exchange(.forTests(.post, body: .bytes(ByteSlice("once"))))
        #expect(response.status == 200)
        #expect(upstream.arrived.map(\.body) == ["once", "once"])
        #expect(context.retries == [.fault(.connectionRefused)])
        #expect(!context.requiresFreshConnection)
    }

    @Test(arguments: [true, false])
    func `a body read by an earlier attempt is not sent again`(_ isRead: Bool) async throws {
        let upstream = Upstream { _, _ in Response(status: 200) }
        let chain = RequestChain(
            [
                RetryInterceptor(policy: RetryPolicy(), budget: RetryBudget()),
                RefusedSecondAttempt(isRead: isRead),
            ],
            transport: upstream
        )
        let request = Request.forTests(.post, body: .stream(PiecedBody(["once"]), length: 4))
        if isRead {
            let error = await networkError { try await chain.exchange(request).0 }
            #expect(error?.kind == .connectionRefused)
            #expect(upstream.arrived.map(\.body) == ["once"])
        } else {
            #expect(try await chain.exchange(request).0.status == 200)
            #expect(upstream.arrived.map(\.body) == ["once"])
        }
    }

    @Test func `POST is not retried after a stale connection`() async {
        let upstream = Upstream { _, _ in throw NetworkError.stale }
        let error = await networkError {
            try await RequestChain.retrying(upstream).exchange(.forTests(.post)).0
        }
        #expect(error?.kind == .connectionTerminated)
        #expect(upstream.arrived.count == 1)
    }

    @Test(arguments: [true, false])
    func `canceling the wait before a retry throws cancelled`(_ isFault: Bool)
        async throws
    {
        let upstream = Upstream { _, _ in
            if isFault { throw NetworkError.refused }
            return Response(status: 503, headers: ["Retry-After": "60"])
        }
        let clock = ManualClock()
        let chain = RequestChain.retrying(upstream, clock: clock) {
            $0.base = .seconds(10_000)
            $0.maximum = .seconds(10_000)
        }
        let call = Task { await networkError { try await chain.exchange().0 } }
        await clock.untilSomebodySleeps()
        call.cancel()
        #expect(await call.value?.kind == .cancelled)
        #expect(upstream.arrived.count == 1)
    }

    @Test func `a retry after a stale connection requires a fresh one`() async throws {
        let origin = FaultyOrigin([.stale, nil])
        let (response, context) = try await RequestChain.retrying(origin).exchange()
        #expect(response.status == 200)
        #expect(origin.demands == [false, true])
        #expect(context.retries == [.fault(.connectionTerminated)])
    }

    @Test func `retries of stale connections are not charged to the budget`() async throws {
        let budget = RetryBudget(share: 0)
        for _ in 1...30 {
            let origin = FaultyOrigin([.stale, nil])
            let chain = RequestChain(
                [RetryInterceptor(policy: RetryPolicy(), budget: budget)],
                transport: origin
            )
            #expect(try await chain.exchange().0.status == 200)
        }
        // Only the retry on a new connection is free.
        var isBudgetUntouched = true
        for _ in 1...10 { isBudgetUntouched = budget.takeRetry(now: 0) && isBudgetUntouched }
        #expect(isBudgetUntouched)
    }

    @Test func `a retry after a refused connection does not require a fresh one`() async throws {
        let origin = FaultyOrigin([.stale, .refused, nil])
        _ = try await RequestChain.retrying(origin).exchange()
        #expect(origin.demands == [false, true, false])
    }

    @Test(arguments: [0, 1, 2, 5])
    func `the last error is thrown if no attempts remain`(_ attempts: Int) async {
        let upstream = Upstream { _, earlier in
            throw NetworkError(
                .connectionRefused,
                side: .upstream,
                retry: .safe,
                detail: "fault \(earlier)"
            )
        }
        let error = await networkError {
            try await RequestChain.retrying(upstream) { $0.retries = attempts }.exchange().0
        }
        #expect(error?.detail == "fault \(attempts)")
        #expect(upstream.arrived.count == attempts + 1)
    }

    @Test func `an empty budget ends the retries`() async {
        let budget = RetryBudget(share: 0)
        let upstream = Upstream { _, _ in throw NetworkError.refused }
        let clock = ManualClock()
        let chain = RequestChain.retrying(upstream, budget: budget, clock: clock) {
            $0.retries = 1000
        }
        var context = RequestContext()
        let error = await networkError { try await chain.send(.forTests(), context: &context) }
        #expect(error?.kind == .connectionRefused)
        #expect(context.retries.last?.description == "retry_budget_exhausted")
        #expect(context.retries.count { $0 == .budgetExhausted } == 1)
        // Ten retries per second are always allowed.
        #expect(upstream.arrived.count == 11)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a retry that would miss the deadline is not charged to the budget`() async {
        let (budget, clock) = (RetryBudget(share: 0), ManualClock())
        let upstream = Upstream { _, _ in throw NetworkError.refused }
        let chain = RequestChain.retrying(upstream, budget: budget, clock: clock) {
            $0.base = .seconds(1)
        }
        for _ in 0..<20 {
            var context = RequestContext(deadline: clock.now)
            _ = await networkError { try await chain.send(.forTests(), context: &context) }
            #expect(context.retries.isEmpty)
        }
        for _ in 0..<10 { #expect(budget.takeRetry(now: 0)) }
    }

    @Test func `a retry does not wait beyond the deadline`() async {
        let upstream = Upstream { _, _ in throw NetworkError.refused }
        let chain = RequestChain.retrying(upstream)
        let error = await networkError {
            var context = RequestContext(deadline: .now)
            return try await chain.send(.forTests(), context: &context)
        }
        #expect(error?.kind == .connectionRefused)
        #expect(upstream.arrived.count == 1)
    }

    @Test func `errors of other types are not retried`() async {
        let upstream = Upstream { _, _ in throw CancellationError() }
        await #expect(throws: CancellationError.self) {
            try await RequestChain.retrying(upstream).exchange().0
        }
        #expect(upstream.arrived.count == 1)
    }
}

@Suite struct StatusRetries {
    @Test(
        arguments: [
            (.get, 502, 3), (.get, 503, 3), (.get, 504, 3), (.head, 503, 3), (.put, 503, 3),
            (.delete, 503, 3), (.post, 503, 1), (.patch, 503, 1), (.get, 500, 1), (.get, 429, 1),
            (.get, 404, 1), (.get, 200, 1),
            (HTTPMethod(rawValue: "PROPFIND") ?? .post, 503, 3),
            (HTTPMethod(rawValue: "REPORT") ?? .post, 503, 3),
            (HTTPMethod(rawValue: "SEARCH") ?? .post, 503, 3),
            (HTTPMethod(rawValue: "MOVE") ?? .get, 503, 1),
            (HTTPMethod(rawValue: "get") ?? .get, 503, 1),
        ] as [(HTTPMethod, HTTPStatus, Int)]
    )
    func `statuses are retried only for idempotent methods`(
        _ method: HTTPMethod,
        _ status: HTTPStatus,
        _ sent: Int
    ) async throws {
        let upstream = Upstream { _, _ in Response(status: status) }
        let (response, context) = try await RequestChain.retrying(upstream)
            .exchange(.forTests(method))
        #expect(response.status == status)
        #expect(upstream.arrived.count == sent)
        #expect(context.retries == Array(repeating: .status(status), count: sent - 1))
    }

    @Test(
        arguments: [
            ([], 503, 1), ([429, 503], 429, 3), ([429, 503], 500, 1), ([429, 503], 503, 3),
            ([429, 503], 428, 1), ([200], 200, 3),
        ] as [(Set<Int>, HTTPStatus, Int)]
    )
    func `only the statuses in the policy are retried`(
        _ statuses: Set<Int>,
        _ status: HTTPStatus,
        _ sent: Int
    ) async throws {
        let upstream = Upstream { _, _ in Response(status: status) }
        let chain = RequestChain.retrying(upstream) { $0.statuses = statuses }
        #expect(try await chain.exchange().0.status == status)
        #expect(upstream.arrived.count == sent)
        var context = RequestContext()
        context.retryLimit = 1
        _ = try await chain.send(.forTests(), context: &context)
        #expect(upstream.arrived.count == sent + min(sent, 2))
    }

    @Test(arguments: [("0", 3), ("3", 1), ("86400", 1)])
    func `a Retry-After above the maximum is not waited for`(_ wait: String, _ sent: Int)
        async throws
    {
        let upstream = Upstream { _, _ in
            Response(status: 503, headers: [.retryAfter: wait])
        }
        let (response, _) = try await RequestChain.retrying(upstream).exchange()
        #expect(response.status == 503)
        #expect(upstream.arrived.count == sent)
    }

    @Test(arguments: ["2", "Fri, 15 Jan 2027 08:00:02 GMT"])
    func `a Retry-After equal to the maximum is waited for to the second`(_ wait: String)
        async throws
    {
        let upstream = Upstream { _, earlier in
            earlier == 0
                ? Response(status: 503, headers: [.retryAfter: wait]) : Response(status: 200)
        }
        let clock = ManualClock(wall: 1_800_000_000, sleeping: .skipped)
        let chain = RequestChain.retrying(upstream, clock: clock) { $0.maximum = .seconds(2) }
        #expect(try await chain.exchange().0.status == 200)
        #expect(clock.slept == [.seconds(2)])
    }

    @Test(arguments: [(2, 1), (3, 2)])
    func `a retry does not wait until the deadline`(
        _ limit: Int,
        _ sent: Int
    ) async throws {
        let upstream = Upstream { _, _ in Response(status: 503, headers: [.retryAfter: "2"]) }
        let clock = ManualClock(sleeping: .skipped)
        let chain = RequestChain.retrying(upstream, clock: clock) { $0.maximum = .seconds(2) }
        var context = RequestContext(deadline: clock.now + .seconds(limit))
        #expect(try await chain.send(.forTests(), context: &context).status == 503)
        #expect(upstream.arrived.count == sent)
    }

    @Test func `the body of a retried response is canceled`() async throws {
        let given = GivenUpBody()
        let upstream = Upstream { _, earlier in
            earlier == 0
                ? Response(status: 503, body: .stream(given, length: nil)) : Response(status: 200)
        }
        _ = try await RequestChain.retrying(upstream).exchange()
        #expect(given.isGivenUp)
    }
}

/// Throws once after the first attempt if the body is to be read, and otherwise before it.
private final class RefusedSecondAttempt: RequestInterceptor {
    private let isRead: Bool
    private let calls = Counter()

    init(isRead: Bool) {
        self.isRead = isRead
    }

    func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        let isFirst = calls.next() == 1
        if isFirst, !isRead { throw NetworkError.refused }
        let response = try await next.send(request, context: &context)
        if isFirst { throw NetworkError.refused }
        return response
    }
}

/// Throws its faults one after the other, and records whether each attempt requires a fresh connection.
private final class FaultyOrigin: HTTPTransport {
    private let state: Mutex<(faults: [NetworkError?], demands: [Bool])>

    init(_ faults: [NetworkError?]) {
        state = Mutex((faults, []))
    }

    var demands: [Bool] { state.withLock { $0.demands } }

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        let demand = context.requiresFreshConnection
        let fault = state.withLock { state in
            state.demands.append(demand)
            return state.faults.removeFirst()
        }
        if let fault { throw fault }
        return Response(status: 200)
    }
}

/// A body that records whether it was canceled.
private final class GivenUpBody: BodySource {
    private let state = Mutex(false)

    var isGivenUp: Bool { state.withLock { $0 } }

    func next() async throws -> ByteSlice? { nil }

    func cancel() { state.withLock { $0 = true } }
}

extension NetworkError {
    fileprivate static var refused: NetworkError {
        NetworkError(.connectionRefused, side: .upstream, retry: .safe, detail: "refused")
    }

    fileprivate static var stale: NetworkError {
        NetworkError(
            .connectionTerminated,
            side: .upstream,
            retry: .idempotentOnly,
            detail: "the pooled connection was dead"
        )
    }
}

extension RequestChain {
    /// Returns a chain that retries without a delay.
    fileprivate static func retrying(
        _ upstream: any HTTPTransport,
        budget: RetryBudget = RetryBudget(),
        clock: any NetworkClock = SystemClock(),
        adjust: (inout RetryPolicy) -> Void = { _ in }
    ) -> RequestChain {
        var policy = RetryPolicy()
        policy.base = .zero
        adjust(&policy)
        var stack = InterceptorStack()
        stack.retry = RetryInterceptor(policy: policy, budget: budget, clock: clock)
        return stack.chain(to: upstream)
    }
}
