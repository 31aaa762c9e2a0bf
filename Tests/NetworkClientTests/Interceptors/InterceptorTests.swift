import NetworkClient
import NetworkTesting
import Synchronization
import TestSupport
import Testing

/// Records its name before and after the rest of the chain.
private struct Noting: RequestInterceptor {
    let name: String
    let notes: Notes

    func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        notes.add(name)
        let response = try await next.send(request, context: &context)
        notes.add("-\(name)")
        return response
    }
}

private final class Notes: Sendable {
    private let list = Mutex<[String]>([])
    var all: [String] { list.withLock { $0 } }
    func add(_ note: String) { list.withLock { $0.append(note) } }
}

/// Throws its own kind of error.
private struct Failing: RequestInterceptor {
    struct Reason: Error {}

    func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        throw Reason()
    }
}

/// Retries the given statuses, and all failures.
private struct Repeating: RequestRetrier {
    let statuses: Set<HTTPStatus>
    var delay = Duration.zero

    func decide(
        on request: Request,
        after outcome: AttemptOutcome,
        attempts: Int
    ) async -> RetryDecision {
        switch outcome {
        case .response(let status, _):
            statuses.contains(status) ? .retry(after: delay) : .doNotRetry
        case .failure: .retry
        }
    }
}

@Suite struct InterceptorTests {
    private let endpoint = PathEndpoint("/x", of: "https://a.example", method: .put)

    @Test func `interceptors of the channel enclose those of the call`() async throws {
        let notes = Notes()
        let stub = StubTransport { _ in .status(200) }
        let manager = NetworkManager<PathEndpoint>(
            .stubbed(
                stub,
                interceptors: [Noting(name: "a", notes: notes), Noting(name: "b", notes: notes)]
            )
        )
        try await manager.send(
            endpoint,
            options: CallOptions(interceptors: [Noting(name: "c", notes: notes)])
        )
        #expect(notes.all == ["a", "b", "c", "-c", "-b", "-a"])
        try await manager.send(endpoint)
        #expect(notes.all.count == 10)
    }

    @Test func `a closure adapts each request`() async throws {
        let stub = StubTransport { _ in .status(200) }
        let manager = NetworkManager<PathEndpoint>(
            .stubbed(
                stub,
                interceptors: [.adapting { $0.headers.set(.userAgent("app/1")) }]
            )
        )
        try await manager.send(endpoint)
        #expect(stub.requests[0].request.headers[.userAgent] == "app/1")
    }

    @Test func `a retrier decides, up to its limit`() async throws {
        let stub = StubTransport { _ in .status(429) }
        let retrying = RetryingInterceptor(Repeating(statuses: [429]), limit: 3)
        let manager = NetworkManager<PathEndpoint>(.stubbed(stub, interceptors: [retrying]))
        let error = await #expect(throws: NetworkError.self) { try await manager.send(endpoint) }
        #expect(error?.response?.status == 429)
        #expect(stub.requests.count == 3)
    }

    @Test(arguments: [(0, 1), (1, 2), (9, 3), (-1, 1), (.max, 3)])
    func `a call can lower the limit of a retrier, but not raise it`(retries: Int, sends: Int)
        async throws
    {
        let stub = StubTransport { _ in .status(429) }
        let retrying = RetryingInterceptor(Repeating(statuses: [429]), limit: 3)
        let manager = NetworkManager<PathEndpoint>(.stubbed(stub, interceptors: [retrying]))
        await #expect(throws: NetworkError.self) {
            try await manager.send(endpoint, options: CallOptions(retries: retries))
        }
        #expect(stub.requests.count == sends)
    }

    @Test func `a retrier does not wait beyond the deadline`() async throws {
        let clock = ManualClock(sleeping: .skipped)
        let stub = StubTransport { _ in .status(429) }
        let chain = RequestChain(
            [
                RetryingInterceptor(Repeating(statuses: [429], delay: .seconds(9)), clock: clock)
            ],
            transport: stub
        )
        var context = RequestContext(deadline: clock.now + .seconds(5))
        let request = Request(origin: Origin(scheme: .https, host: "api.example"), target: "/x")
        #expect(try await chain.send(request, context: &context).status == 429)
        #expect(clock.slept.isEmpty)
    }

    @Test func `a retrier waits on its clock`() async throws {
        let clock = ManualClock(sleeping: .skipped)
        let stub = StubTransport()
        stub.answer(.put, "/x", with: .status(429), .status(200))
        let retrying = RetryingInterceptor(
            Repeating(statuses: [429], delay: .seconds(9)),
            clock: clock
        )
        try await NetworkManager<PathEndpoint>(.stubbed(stub, interceptors: [retrying]))
            .send(endpoint)
        #expect(clock.slept == [.seconds(9)])
    }

    @Test func `a retrier does not send a streamed body twice`() async throws {
        let stub = StubTransport { _ in .status(429) }
        let retrying = RetryingInterceptor(Repeating(statuses: [429]))
        let manager = NetworkManager<PathEndpoint>(.stubbed(stub, interceptors: [retrying]))
        await #expect(throws: NetworkError.self) {
            try await manager.upload(
                endpoint,
                .stream(PiecedBody(["x"]), contentType: "text/plain")
            )
        }
        #expect(stub.requests.count == 1)
    }

    @Test func `an error names the interceptor that threw it`() async throws {
        let notes = Notes()
        let stub = StubTransport { _ in .status(200) }
        let manager = NetworkManager<PathEndpoint>(
            .stubbed(stub, interceptors: [Noting(name: "a", notes: notes), Failing()])
        )
        let error = await #expect(throws: NetworkError.self) { try await manager.send(endpoint) }
        #expect(error?.interceptor == "Failing")
        #expect(error?.underlying is Failing.Reason)
        #expect(stub.requests.isEmpty)
    }

    @Test func `an error of the transport names no interceptor`() async throws {
        let notes = Notes()
        let fault = NetworkError(.dnsError, side: .upstream, retry: .safe, detail: "no such host")
        let stub = StubTransport { _ in .failure(fault) }
        var channel = NetworkChannel.stubbed(
            stub,
            interceptors: [Noting(name: "a", notes: notes)]
        )
        channel.retry = nil
        let error = await #expect(throws: NetworkError.self) {
            try await NetworkManager<PathEndpoint>(channel).send(endpoint)
        }
        #expect(error?.interceptor == nil)
        #expect(error?.source == .transport)
        #expect(error?.isSafeToRetry(.post) == true)
    }

    @Test(
        arguments: [
            (.safe, true, true), (.idempotentOnly, true, false), (.unsafe, false, false),
        ] as [(NetworkError.RetrySafety, Bool, Bool)]
    )
    func `an error contains whether a retry is safe`(
        _ safety: NetworkError.RetrySafety,
        _ get: Bool,
        _ post: Bool
    ) {
        let error = NetworkError(.dnsError, side: .upstream, retry: safety, detail: "")
        #expect(error.isSafeToRetry(.get) == get)
        #expect(error.isSafeToRetry(.post) == post)
    }

    @Test func `an error without a response cannot be decoded`() {
        let error = NetworkError(.dnsError, side: .upstream, detail: "no such host")
        #expect(throws: NetworkError.self) { try error.decode(ServerError.self) }
    }

    @Test func `connection faults are retried by the channel`() async throws {
        let faults = FaultInterceptor(.connectionRefused, .first(2))
        let stub = StubTransport { _ in .status(200) }
        let notes = Notes()
        let channel = NetworkChannel.stubbed(
            FaultyTransport(stub, faults),
            interceptors: [Noting(name: "a", notes: notes)]
        )
        try await NetworkManager<PathEndpoint>(channel).send(endpoint)
        #expect(faults.attempts == 3)
        #expect(notes.all == ["a", "-a"])
    }

    @Test(arguments: [(nil, 3), (0, 1), (1, 2), (2, 3), (4, 5), (-1, 1)])
    func `a call may set its own number of retries`(
        _ retries: Int?,
        _ sent: Int
    ) async throws {
        var options = CallOptions()
        options.retries = retries
        for fault in [FaultInterceptor.Fault.connectionRefused, .status(503)] {
            let faults = FaultInterceptor(fault, .first(10))
            let stub = StubTransport { _ in .status(200) }
            let manager = NetworkManager<PathEndpoint>(.stubbed(FaultyTransport(stub, faults)))
            await #expect(throws: NetworkError.self) {
                try await manager.send(endpoint, options: options)
            }
            #expect(faults.attempts == sent)
        }
    }

    @Test func `a call does not retry if its channel does not`() async throws {
        let faults = FaultInterceptor(.connectionRefused, .first(10))
        var channel = NetworkChannel.stubbed(
            FaultyTransport(StubTransport { _ in .status(200) }, faults)
        )
        channel.retry = nil
        var options = CallOptions()
        options.retries = 3
        await #expect(throws: NetworkError.self) {
            try await NetworkManager<PathEndpoint>(channel).send(endpoint, options: options)
        }
        #expect(faults.attempts == 1)
    }
}

@Suite struct FaultTests {
    private func statuses(_ fault: FaultInterceptor, _ count: Int) async -> [Int] {
        let chain = RequestChain([fault], transport: StubTransport { _ in .json("abc") })
        var statuses: [Int] = []
        for _ in 0..<count {
            do {
                let (response, _) = try await chain.exchange()
                _ = try await response.body.collect(upTo: 100)
                statuses.append(response.status.rawValue)
            } catch {
                statuses.append(0)
            }
        }
        return statuses
    }

    @Test func `a plan selects the attempts with a fault`() async {
        #expect(
            await statuses(FaultInterceptor(.status(503), .first(2)), 4) == [503, 503, 200, 200]
        )
        #expect(
            await statuses(FaultInterceptor(.connectionTerminated, .every(2)), 4)
                == [200, 0, 200, 0]
        )
        #expect(await statuses(FaultInterceptor(.cut(after: 2), .every(1)), 1) == [0])
        #expect(await statuses(FaultInterceptor(.cut(after: 2), .every(0)), 1) == [200])
    }

    @Test func `the same seed selects the same attempts`() async {
        let first = await statuses(FaultInterceptor(.status(500), .share(0.3, seed: 7)), 200)
        let second = await statuses(FaultInterceptor(.status(500), .share(0.3, seed: 7)), 200)
        #expect(first == second)
        #expect((30...90).contains(first.count { $0 == 500 }))
    }

    @Test func `latency uses the test's clock`() async {
        let clock = ManualClock(sleeping: .skipped)
        let fault = FaultInterceptor(.latency(.seconds(60)), .every(1), clock: clock)
        #expect(await statuses(fault, 2) == [200, 200])
        #expect(clock.slept == [.seconds(60), .seconds(60)])
    }
}

@Suite struct StubTests {
    @Test func `a manager responds from samples without a transport`() async throws {
        let manager = NetworkManager<OrderEndpoint>(stubbing: .stubbed(StubTransport()))
        #expect(try await manager.request(.order(3), as: Order.self).name == "sample")
    }

    @Test func `never uses the channel's transport`() async throws {
        let stub = StubTransport { _ in .json(#"{"id":1,"name":"live"}"#) }
        let manager = NetworkManager<OrderEndpoint>(stubbing: .stubbed(stub)) { endpoint in
            if case .order(1) = endpoint { .never } else { .immediate }
        }
        #expect(try await manager.request(.order(1), as: Order.self).name == "live")
        #expect(try await manager.request(.order(2), as: Order.self).name == "sample")
        #expect(stub.requests.count == 1)
    }

    @Test func `a delay uses the channel's clock`() async throws {
        let clock = ManualClock(sleeping: .skipped)
        var channel = NetworkChannel.stubbed(StubTransport())
        channel.clock = clock
        let manager = NetworkManager<OrderEndpoint>(stubbing: channel) { _ in
            .delayed(.seconds(30))
        }
        _ = try await manager.request(.order(2), as: Order.self)
        #expect(clock.slept == [.seconds(30)])
    }

    @Test func `responses come in order, and the last one repeats`() async throws {
        let stub = StubTransport()
        stub.answer(.get, "/v1/*", with: .status(500), .json("1"), .json("2"))
        var channel = NetworkChannel.stubbed(stub)
        channel.retry = nil
        let manager = NetworkManager<OrderEndpoint>(channel)
        await #expect(throws: NetworkError.self) { try await manager.send(.list) }
        #expect(try await manager.request(.list, as: Int.self) == 1)
        #expect(try await manager.request(.list, as: Int.self) == 2)
        #expect(try await manager.request(.list, as: Int.self) == 2)
        #expect(stub.requests.map(\.path) == Array(repeating: "/v1/orders", count: 4))
    }
}
