import NetworkClient
import NetworkTesting
import OriginTransport
import TestSupport
import Testing

/// Tests of waits longer than any clock can measure.
@Suite struct LongWaitTests {
    private let endpoint = PathEndpoint("/x", of: "https://a.example")
    private let forever = CallOptions(timeout: .seconds(Int64.max))

    @Test func `a timeout of centuries equals no timeout`() async throws {
        let stub = StubTransport { _ in .json("1") }
        let manager = NetworkManager<PathEndpoint>(.stubbed(stub))
        #expect(try await manager.response(for: endpoint, options: forever).text == "1")
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let sockets = NetworkManager<PathEndpoint>(
            NetworkChannel(transport: try PooledTransport())
        )
        let live = PathEndpoint("/", of: "http://127.0.0.1:\(origin.port)")
        try await sockets.send(live, options: forever)
        try await sockets.send(live, options: forever)
    }

    @Test func `a wait of centuries ends with its task`() async throws {
        let clock = SystemClock()
        let wait = Task { try await clock.sleep(until: clock.now + .seconds(Int64.max)) }
        wait.cancel()
        await #expect(throws: CancellationError.self) { try await wait.value }
    }

    @Test(.timeLimit(.minutes(1)))
    func `an authorizer that ignores deadlines does not block a call`() async throws {
        let clock = ManualClock()
        var channel = NetworkChannel(
            transport: try PooledTransport(),
            authorizer: EndlessAuthorizer(clock: clock)
        )
        channel.clock = clock
        let manager = NetworkManager<PathEndpoint>(channel)
        let call = Task {
            try await manager.send(endpoint, options: CallOptions(timeout: .seconds(5)))
        }
        while clock.sleepers < 2 { await Task.yield() }
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: NetworkError.self) { try await call.value }
        #expect(error?.kind == .httpResponseTimeout)
    }
}

/// Takes an hour for its credential, and ignores the deadline.
private struct EndlessAuthorizer: Authorizing {
    let clock: any NetworkClock
    var kind: String { "slow" }
    var fieldName: HTTPFieldName { .authorization }

    func currentCredential() -> Credential? { nil }

    func credential(until deadline: ContinuousClock.Instant?) async throws -> Credential {
        try await clock.sleep(until: clock.now + .seconds(3600))
        throw CancellationError()
    }

    func rejected(_ rejection: Rejection) async -> Verdict { .passThrough(.alreadyReplayed) }
}
