import Bytes
import EventIO
import NetworkCore
import Synchronization

/// A stream that lives on a loop, used from wherever the caller is.
///
/// Behind its end it asks the loop for nothing: see `HoppingBody`.
final class HoppingStream: DuplexStream {
    private let stream: any DuplexStream
    private let loop: EventLoop
    private let isClosed = Atomic(false)

    init(_ stream: any DuplexStream, _ loop: EventLoop) {
        self.stream = stream
        self.loop = loop
    }

    private func checkOpen() throws {
        guard !isClosed.load(ordering: .acquiring) else {
            throw NetworkError(.cancelled, side: .upstream, detail: "the tunnel was closed")
        }
    }

    func read() async throws -> ByteSlice? {
        try checkOpen()
        return try await withTaskExecutorPreference(loop) { try await readOnLoop() }
    }

    @concurrent
    private func readOnLoop() async throws -> ByteSlice? { try await stream.read() }

    func write(_ bytes: ByteSlice) async throws {
        try checkOpen()
        try await withTaskExecutorPreference(loop) { try await writeOnLoop(bytes) }
    }

    @concurrent
    private func writeOnLoop(_ bytes: ByteSlice) async throws { try await stream.write(bytes) }

    func finishWriting() {
        let stream = stream
        loop.submit { stream.finishWriting() }
    }

    func close() {
        isClosed.store(true, ordering: .releasing)
        stream.close()
    }
}
