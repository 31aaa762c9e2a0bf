import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

/// Machines suspended during a token request.
@Suite struct MachineSuspensionTests {
    @Test func `a response that arrives after the machine resumes is used`() async throws {
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")))
        harness.server.gate.close()
        let caller = Task { try await harness.token() }
        #expect(await eventually { harness.server.gate.waiting == 1 })
        harness.clock.advance(by: .seconds(2 * 3600))
        await #expect(throws: NetworkError.self) { try await caller.value }
        #expect(await harness.manager.status().state == .refreshing)
        harness.server.gate.open()
        #expect(await eventually { await harness.manager.status().state != .refreshing })
        #expect(try await harness.store.load()?.refreshToken == Secret("refresh-1"))
        #expect(try await harness.token() == "Bearer access-2")
        #expect(!harness.server.sawReuse)
    }

    @Test func `the rest of a response with a late head has a little time`() async throws {
        let clock = ManualClock()
        let behind = AuthorizationServerModel(clock: clock)
        let client = TokenEndpointClient(
            transport: LateServer(clock: clock, by: .seconds(3600), behind: behind),
            clock: clock
        )
        let response = try await client.tokens(
            for: .refreshToken(Secret("initial")),
            configuration: OAuthHarness.configuration(.refreshToken(initial: nil)),
            deadline: clock.now + .seconds(10)
        )
        #expect(response.refreshToken == Secret("refresh-1"))
    }
}

/// Its responses arrive long after the request, and in two pieces.
private struct LateServer: HTTPTransport {
    let clock: ManualClock
    let delay: Duration
    let behind: AuthorizationServerModel

    init(clock: ManualClock, by delay: Duration, behind: AuthorizationServerModel) {
        self.clock = clock
        self.delay = delay
        self.behind = behind
    }

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        var response = try await behind.send(request, context: &context)
        clock.advance(by: delay)
        let body = try await response.body.collect(upTo: 1 << 16)
        response.body = .stream(Pieces([ByteSlice("  "), body]), length: nil)
        return response
    }
}

/// Content that arrives piece by piece, each after a turn of all other tasks.
private final class Pieces: BodySource {
    private let rest: Mutex<[ByteSlice]>

    init(_ pieces: [ByteSlice]) { rest = Mutex(pieces) }

    func next() async throws -> ByteSlice? {
        for _ in 0..<100 { await Task.yield() }
        try Task.checkCancellation()
        return rest.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }

    func cancel() {}
}
