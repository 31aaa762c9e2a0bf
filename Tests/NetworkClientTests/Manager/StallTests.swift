import NetworkClient
import NetworkTesting
import TestSupport
import Testing

/// Tests of the limit on pauses of a response's content.
@Suite struct StallTests {
    private let clock = ManualClock()
    private let endpoint = PathEndpoint("/x", of: "https://a.example")

    private func manager(_ change: (inout NetworkChannel) -> Void = { _ in })
        -> NetworkManager<PathEndpoint>
    {
        let body = HTTPBody.stream(StalledBody(), length: nil)
        var channel = NetworkChannel.stubbed(
            StubTransport { _ in .response(Response(status: 200, body: body)) }
        )
        channel.clock = clock
        change(&channel)
        return NetworkManager(channel)
    }

    private func fault(
        of call: @escaping @Sendable () async throws -> Void
    ) async -> NetworkError? {
        let task = Task { try await call() }
        await clock.untilSomebodySleeps()
        clock.advance(by: .seconds(5))
        return await #expect(throws: NetworkError.self) { try await task.value }
    }

    private func check(_ error: NetworkError?) {
        #expect(error?.kind == .connectionReadTimeout)
        #expect(error?.isTimeout == true)
        #expect(error?.detail.contains("the stall timeout of the call (5s)") == true)
    }

    @Test func `a whole response fails if its content pauses for too long`() async {
        let options = CallOptions(stallTimeout: .seconds(5))
        let manager = manager()
        check(
            await fault { [endpoint] in
                _ = try await manager.data(for: endpoint, options: options)
            }
        )
    }

    @Test func `a stream fails if its content pauses for too long`() async {
        let manager = manager { $0.stallTimeout = .seconds(5) }
        check(
            await fault { [endpoint] in
                for try await _ in try await manager.stream(endpoint) {}
            }
        )
    }

    @Test func `a download fails if its content pauses for too long`() async throws {
        let manager = manager { $0.stallTimeout = .seconds(5) }
        let file = try ScratchFile("")
        let path = file.path
        check(
            await fault { [endpoint] in _ = try await manager.download(endpoint, to: path) }
        )
    }
}
