import NetproxyBytes
import NetproxyEventIO
import NetworkCore
import Synchronization

/// A stream that lives on a loop, used from any executor.
///
/// After its end, a stream does not use the loop: see `ExecutorBoundBody`.
final class ExecutorBoundStream: DuplexStream {
    private let stream: any DuplexStream
    private let loop: EventLoop
    private let isClosed = Atomic(false)
    private let isReading = Atomic(false)
    private let isWriting = Atomic(false)

    init(_ stream: any DuplexStream, _ loop: EventLoop) {
        self.stream = stream
        self.loop = loop
    }

    func read() async throws -> ByteSlice? {
        try begin(isReading, "read")
        defer { isReading.store(false, ordering: .releasing) }
        return try await untilCancelled { try await self.readOnLoop() }
    }

    @concurrent
    private func readOnLoop() async throws -> ByteSlice? { try await stream.read() }

    func write(_ bytes: ByteSlice) async throws {
        try begin(isWriting, "write")
        defer { isWriting.store(false, ordering: .releasing) }
        try await untilCancelled { try await self.writeOnLoop(bytes) }
    }

    @concurrent
    private func writeOnLoop(_ bytes: ByteSlice) async throws { try await stream.write(bytes) }

    /// Begins an operation that only one task may perform at a time.
    private func begin(_ isBusy: borrowing Atomic<Bool>, _ verb: String) throws {
        guard !isClosed.load(ordering: .acquiring) else {
            throw NetworkError(.cancelled, side: .upstream, detail: "the tunnel was closed")
        }
        guard !isBusy.exchange(true, ordering: .acquiringAndReleasing) else {
            throw NetworkError(
                .httpRequestError,
                side: .downstream,
                detail: "two tasks \(verb) one tunnel; let one of them"
            )
        }
    }

    /// Waits on the loop; canceling the task closes the tunnel, since a message may have been transferred in
    /// part.
    private func untilCancelled<Result: Sendable>(
        _ operation: () async throws -> Result
    ) async throws -> Result {
        try await withTaskCancellationHandler {
            try await withTaskExecutorPreference(loop) { try await operation() }
        } onCancel: {
            close()
        }
    }

    func finishWriting() {
        let stream = stream
        loop.submit { stream.finishWriting() }
    }

    func close() {
        isClosed.store(true, ordering: .releasing)
        stream.close()
    }
}
