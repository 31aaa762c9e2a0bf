import EventIO
import NetworkCore
import Synchronization

/// A body that lives on a loop, read from any executor.
///
/// After its end it does not use the loop: a transport that is gone stops its loop when the last
/// body has ended.
final class ExecutorBoundBody: BodySource {
    private enum Phase: UInt8, AtomicRepresentable {
        case idle, reading, over
    }

    private let source: any BodySource
    private let loop: EventLoop
    private let phase = Atomic(Phase.idle)

    init(_ source: any BodySource, _ loop: EventLoop) {
        self.source = source
        self.loop = loop
    }

    func next() async throws -> ByteSlice? {
        switch phase.compareExchange(
            expected: .idle,
            desired: .reading,
            ordering: .acquiringAndReleasing
        ).original {
        case .idle: break
        case .over: return nil
        case .reading:
            throw NetworkError(
                .httpRequestError,
                side: .downstream,
                detail: "two tasks read one content; give it to one of them"
            )
        }
        do {
            let piece = try await withTaskExecutorPreference(loop) { try await nextOnLoop() }
            if piece == nil { end() } else { continueReading() }
            return piece
        } catch {
            end()
            throw error
        }
    }

    @concurrent
    private func nextOnLoop() async throws -> ByteSlice? {
        try await source.next()
    }

    /// Unless the body was cancelled in between.
    private func continueReading() {
        _ = phase.compareExchange(
            expected: .reading,
            desired: .idle,
            ordering: .acquiringAndReleasing
        )
    }

    private func end() { phase.store(.over, ordering: .releasing) }

    func trailers() -> HTTPHeaders? { source.trailers() }

    func cancel() {
        end()
        source.cancel()
    }
}
