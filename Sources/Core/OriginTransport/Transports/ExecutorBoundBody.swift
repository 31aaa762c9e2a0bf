import NetproxyBytes
import NetproxyEventIO
import NetworkCore
import Synchronization

/// A body that lives on a loop, read from any executor.
///
/// Each switch to the loop's thread returns all content that has arrived, up to 256 KiB, so a fast body needs
/// few switches and a slow one is not delayed. After its end, a body does not use the loop: a released
/// transport stops its loop when the last body has ended.
final class ExecutorBoundBody: BodySource {
    private enum Phase {
        case idle, reading, over
    }

    private struct State {
        var phase = Phase.idle
        /// The pieces read ahead, the first one last.
        var ready: [ByteSlice] = []
    }

    /// The maximum content of one switch to the loop's thread, in bytes.
    private static let batchSize = 256 * 1024

    private let source: any BodySource
    private let loop: EventLoop
    private let state = Mutex(State())

    init(_ source: any BodySource, _ loop: EventLoop) {
        self.source = source
        self.loop = loop
    }

    func next() async throws -> ByteSlice? {
        let (piece, phase) = state.withLock { state in
            let known = state.phase
            guard known == .idle else { return (nil as ByteSlice?, known) }
            if let piece = state.ready.popLast() { return (piece, known) }
            state.phase = .reading
            return (nil, known)
        }
        switch phase {
        case .idle: if let piece { return piece }
        case .over: return nil
        case .reading:
            throw NetworkError(
                .httpRequestError,
                side: .downstream,
                detail: "two tasks read one content; give it to one of them"
            )
        }
        do {
            var pieces = try await withTaskExecutorPreference(loop) { try await piecesOnLoop() }
            let first = pieces.popLast()
            let rest = pieces
            state.withLock { state in
                // The body may have been canceled in the meantime.
                guard state.phase == .reading else { return }
                state.phase = first == nil ? .over : .idle
                state.ready = rest
            }
            return first
        } catch {
            end()
            throw error
        }
    }

    /// Returns the next pieces, the first one last.
    @concurrent
    private func piecesOnLoop() async throws -> [ByteSlice] {
        guard let first = try await source.next() else { return [] }
        guard let body = source as? UpstreamBody else { return [first] }
        var pieces = [first]
        var count = first.count
        while count < ExecutorBoundBody.batchSize, let piece = body.pieceAtHand() {
            pieces.append(piece)
            count += piece.count
        }
        pieces.reverse()
        return pieces
    }

    func buffered() -> ByteSlice? {
        state.withLock { $0.phase == .idle ? $0.ready.popLast() : nil }
    }

    private func end() {
        state.withLock { state in
            state.phase = .over
            state.ready = []
        }
    }

    func trailers() -> HTTPHeaders? { source.trailers() }

    func cancel() {
        end()
        source.cancel()
    }
}
