import NetworkCore
import NetworkTesting
import OriginTransport
import TestSupport
import Testing

/// Waits that no clock can count.
@Suite struct LongWaitTests {
    private let endpoint = PathEndpoint("/x", of: "https://a.example")
    private let forever = CallOptions(timeout: .seconds(Int64.max))

    @Test func `a timeout of centuries is as good as none`() async throws {
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
}
