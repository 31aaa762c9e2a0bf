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

    @Test func `each direction has its own hook`() async throws {
        let up = Mutex<[Int]>([])
        let down = Mutex<[Int]>([])
        let options = CallOptions(
            uploadProgress: { progress in up.withLock { $0.append(progress.transferred) } },
            downloadProgress: { progress in down.withLock { $0.append(progress.transferred) } }
        )
        let manager = NetworkManager<PathEndpoint>(.stubbed(StubTransport { _ in .json("[1]") }))
        let endpoint = PathEndpoint("/x", of: "https://a.example", method: .post)
        _ = try await manager.upload(endpoint, .text("four"), options: options)
        #expect(up.withLock { $0 } == [4])
        #expect(down.withLock { $0 } == [3])
    }
}
