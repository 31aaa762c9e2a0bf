import Synchronization

/// Records a body while it is sent, so that it can be sent again.
///
/// It never fails the first attempt: above its limit it forgets what it recorded, and the body is
/// simply no longer replayable.
final class ReplayBuffer: BodySource {
    private struct State {
        var pieces: [ByteSlice] = []
        var size = 0
        var isOverflown = false
        var isAtEnd = false
        var hasFailed = false
    }

    private let source: any BodySource
    private let limit: Int
    private let state = Mutex(State())

    init(_ source: any BodySource, limit: Int) {
        self.source = source
        self.limit = limit
    }

    func next() async throws -> ByteSlice? {
        let piece: ByteSlice?
        do {
            piece = try await source.next()
        } catch {
            // A wait that was called off lost nothing; anything else ends the body.
            if !(error is CancellationError) { state.withLock { $0.hasFailed = true } }
            throw error
        }
        state.withLock { state in
            guard let piece else {
                state.isAtEnd = true
                return
            }
            state.size += piece.count
            if state.size > limit {
                state.isOverflown = true
                state.pieces = []
            } else {
                state.pieces.append(piece)
            }
        }
        return piece
    }

    /// An origin that answers early does not want the rest; the replay may.
    func cancel() {}

    /// The body for the second attempt: what was recorded, and what the app still sends; nothing if
    /// it was too long.
    func replay(as original: HTTPBody) -> HTTPBody? {
        let (pieces, isAtEnd) = state.withLock { state -> ([ByteSlice]?, Bool) in
            (state.isOverflown || state.hasFailed ? nil : state.pieces, state.isAtEnd)
        }
        guard let pieces else { return nil }
        let isComplete = isAtEnd || pieces.reduce(0) { $0 + $1.count } == original.length
        if isComplete, pieces.count == 1 { return .bytes(pieces[0]) }
        return .stream(
            ReplayedBody(pieces, then: isComplete ? nil : source),
            length: original.length
        )
    }
}

/// Recorded pieces first, then the rest of the source.
private final class ReplayedBody: BodySource {
    private let pieces: Mutex<ArraySlice<ByteSlice>>
    private let rest: (any BodySource)?

    init(_ pieces: [ByteSlice], then rest: (any BodySource)?) {
        self.pieces = Mutex(pieces[...])
        self.rest = rest
    }

    func next() async throws -> ByteSlice? {
        if let piece = pieces.withLock({ $0.popFirst() }) { return piece }
        return try await rest?.next()
    }

    func cancel() { rest?.cancel() }
}
