import NetworkCore
import TestSupport
import Testing

@Suite struct RetryPolicies {
    private static let bodies: [(name: String, make: @Sendable () -> HTTPBody)] = [
        ("empty", { .empty }),
        ("bytes", { .bytes(ByteSlice("x")) }),
        ("stream", { .stream(PiecedBody(["x"]), length: 1) }),
    ]

    @Test(
        arguments: [
            // Not processed by the server: retried for any method and body.
            (.connectionRefused, .safe, .get, [true, true, true]),
            (.connectionRefused, .safe, .post, [true, true, true]),
            (.dnsError, .safe, .patch, [true, true, true]),
            (.connectionTimeout, .safe, .delete, [true, true, true]),
            // The next attempt would receive the same certificate.
            (.tlsCertificateError, .safe, .get, [false, false, false]),
            // A server that is full or shutting down closes the handshake.
            (.tlsProtocolError, .safe, .get, [true, true, true]),
            (.tlsProtocolError, .safe, .post, [true, true, true]),
            // A stale pooled connection.
            (.connectionTerminated, .idempotentOnly, .get, [true, true, false]),
            (.connectionTerminated, .idempotentOnly, .head, [true, true, false]),
            (.connectionTerminated, .idempotentOnly, .put, [true, true, false]),
            (.connectionTerminated, .idempotentOnly, .delete, [true, true, false]),
            (.connectionTerminated, .idempotentOnly, .options, [true, true, false]),
            (.connectionTerminated, .idempotentOnly, .post, [false, false, false]),
            (.connectionTerminated, .idempotentOnly, .patch, [false, false, false]),
            // Possibly processed by the server.
            (.connectionTerminated, .unsafe, .get, [true, true, false]),
            (.connectionTerminated, .unsafe, .put, [true, true, false]),
            (.connectionTerminated, .unsafe, .post, [false, false, false]),
            (.httpResponseTimeout, .unsafe, .get, [false, false, false]),
            (.connectionReadTimeout, .unsafe, .get, [false, false, false]),
            (.httpProtocolError, .unsafe, .get, [false, false, false]),
            // The caller no longer waits.
            (.cancelled, .safe, .get, [false, false, false]),
            (.cancelled, .idempotentOnly, .get, [false, false, false]),
            (.cancelled, .unsafe, .get, [false, false, false]),
        ] as [(ErrorKind, NetworkError.RetrySafety, HTTPMethod, [Bool])]
    )
    func `the retry of a fault depends on its kind, the method and the body`(
        _ kind: ErrorKind,
        _ safety: NetworkError.RetrySafety,
        _ method: HTTPMethod,
        _ expected: [Bool]
    ) {
        let fault = NetworkError(kind, side: .upstream, retry: safety, detail: "gone")
        for (body, isAllowed) in zip(RetryPolicies.bodies, expected) {
            let request = Request.forTests(method, body: body.make())
            let allows = RetryPolicy().allowsRetry(of: request, after: fault)
            #expect(allows == isAllowed, "\(body.name)")
        }
    }

    @Test(arguments: ["Idempotency-Key", "x-idempotency-key"] as [HTTPFieldName])
    func `a request with an idempotency key is retried like an idempotent one`(
        name: HTTPFieldName
    ) {
        var request = Request.forTests(.post)
        request.headers[name] = "8e03978e"
        #expect(RetryPolicy().allowsRetry(of: request, after: RetryPolicies.lost))
        #expect(!RetryPolicy().allowsRetry(of: .forTests(.post), after: RetryPolicies.lost))
        let stale = NetworkError(
            .connectionTerminated,
            side: .upstream,
            retry: .idempotentOnly,
            detail: "gone"
        )
        #expect(stale.isSafeToRetry(request) && !stale.isSafeToRetry(.forTests(.post)))
    }

    @Test func `a policy names methods that are retried like idempotent ones`() {
        let policy = RetryPolicy(retries: 3, methods: [.post])
        #expect(policy.allowsRetry(of: .forTests(.post), after: RetryPolicies.lost))
        #expect(!policy.allowsRetry(of: .forTests(.patch), after: RetryPolicies.lost))
    }

    private static let lost = NetworkError(
        .connectionTerminated,
        side: .upstream,
        retry: .unsafe,
        detail: "gone"
    )

    @Test func `a fault of the client is not retried`() {
        let fault = NetworkError(
            .httpRequestDenied,
            side: .downstream,
            retry: .safe,
            detail: "it brings its own credential"
        )
        for method in [HTTPMethod.get, .post] {
            #expect(!RetryPolicy().allowsRetry(of: .forTests(method), after: fault))
        }
    }

    @Test(arguments: [
        (1, 100), (2, 200), (3, 400), (4, 800), (5, 1600), (6, 2000), (64, 2000), (0, 100),
    ])
    func `the window doubles up to the maximum`(_ retry: Int, _ milliseconds: Int) {
        let policy = RetryPolicy()
        for _ in 0..<100 {
            let delay = policy.delay(beforeRetry: retry)
            #expect(delay >= .zero && delay <= .milliseconds(milliseconds))
        }
    }

    @Test func `a delay is a random part of its window`() {
        // The probability that all delays miss one half is 2^-200.
        let delays = (0..<200).map { _ in RetryPolicy().delay(beforeRetry: 1) }
        #expect(delays.contains { $0 < .milliseconds(50) })
        #expect(delays.contains { $0 > .milliseconds(50) })
    }
}

@Suite struct RetryBudgets {
    @Test func `ten retries per second are free`() {
        let budget = RetryBudget(share: 0.2)
        for second in 0..<3 {
            #expect((0..<20).count { _ in budget.takeRetry(now: second) } == 10)
        }
    }

    @Test(arguments: [(0.2, 100, 20), (0.2, 1000, 200), (0.5, 100, 50), (0, 1000, 10)])
    func `further retries are a share of the requests`(
        _ share: Double,
        _ requests: Int,
        _ retries: Int
    ) {
        let budget = RetryBudget(share: share)
        for _ in 0..<requests { budget.countRequest(now: 5) }
        #expect((0..<requests).count { _ in budget.takeRetry(now: 5) } == retries)
    }

    @Test func `requests count for ten seconds`() {
        let budget = RetryBudget(share: 0.2)
        for _ in 0..<100 { budget.countRequest(now: 0) }
        #expect((0..<100).count { _ in budget.takeRetry(now: 9) } == 20)
        let later = RetryBudget(share: 0.2)
        for _ in 0..<100 { later.countRequest(now: 0) }
        #expect((0..<100).count { _ in later.takeRetry(now: 10) } == 10)
    }

    @Test(arguments: [-1, -10, Int.min, .max])
    func `a budget starts at any second, and counts a past second as the latest`(start: Int) {
        let budget = RetryBudget(share: 0)
        budget.countRequest(now: start)
        #expect((0..<20).count { _ in budget.takeRetry(now: start) } == 10)
        #expect(!budget.takeRetry(now: .min))
        budget.countRequest(now: .max)
        #expect(budget.takeRetry(now: .max) == (start < .max))
    }

    @Test func `a long pause empties the window`() {
        let budget = RetryBudget(share: 0.2)
        for _ in 0..<100 { budget.countRequest(now: 3) }
        #expect((0..<100).count { _ in budget.takeRetry(now: 1_000_003) } == 10)
    }
}
