import NetworkClient
import NetworkTesting
import Synchronization
import Testing

/// Tests of the progress reported by a call.
@Suite struct ProgressTests {
    @Test func `the progress of content in memory is reported`() async throws {
        let seen = Mutex<[TransferProgress]>([])
        let options = CallOptions(progress: { progress in seen.withLock { $0.append(progress) } })
        let manager = NetworkManager<PathEndpoint>(.stubbed(StubTransport { _ in .json("[1]") }))
        let endpoint = PathEndpoint("/x", of: "https://a.example")
        _ = try await manager.response(for: endpoint, options: options)
        let stream = try await manager.stream(endpoint, options: options)
        for try await _ in stream.bytes {}
        let told = seen.withLock { $0 }
        #expect(told.map(\.direction) == [.download, .download])
        #expect(told.map(\.transferred) == [3, 3])
        #expect(told.map(\.fraction) == [1, 1])
    }
}
