import Synchronization

/// Records a request body while it is sent for the first time, so that it can be sent again.
///
/// It never makes the first attempt fail or wait. Above `limit` bytes the body is simply no longer
/// replayable, and what was recorded is given up. If the first attempt ended before it had read
/// everything, the second one reads the rest from where it comes from. One body is sent at a time: a
/// new one takes the source over from the one before.
public final class ReplayBuffer: Sendable {
    private struct State {
        var pieces: [ByteSlice] = []
        var recorded = 0
        /// How many pieces came from the source, recorded or not.
        var seen = 0
        var isRecording: Bool
        /// Whether a piece has gone by that is not recorded.
        var isIncomplete = false
        var isAtEnd = false
        var failure: (any Error)?
        /// Which body may read from the source.
        var owner = 0
        /// Whether that one does not want any more.
        var isOwnerDone = false
        var isReading = false
        var handover: CheckedContinuation<Void, Never>?
    }

    /// What a body does next.
    private enum Step {
        case piece(ByteSlice)
        case end
        case failed(any Error)
        case read
        case wait
    }

    /// A piece shorter than this is copied, so that it does not keep a whole read buffer alive.
    private static let copyBelow = 2048

    private let source: any BodySource
    private let length: Int?
    private let limit: Int
    private let state: Mutex<State>

    /// Records a body.
    ///
    /// - Parameters:
    ///   - source: where the body comes from.
    ///   - length: its length, if known; one above `limit` is not recorded at all.
    ///   - limit: how many bytes are kept at most.
    public init(_ source: any BodySource, length: Int?, limit: Int) {
        self.source = source
        self.length = length
        self.limit = limit
        let isHopeless = limit <= 0 || (length ?? 0) > limit
        state = Mutex(State(isRecording: !isHopeless, isIncomplete: isHopeless))
    }

    /// The buffer that a body is read through already, if there is one.
    static func recording(_ body: HTTPBody) -> ReplayBuffer? {
        guard case .stream(let source, _) = body else { return nil }
        return (source as? Reader)?.buffer
    }

    /// Whether the body can be sent once more from its start.
    public var isReplayable: Bool {
        state.withLock { !$0.isIncomplete && $0.isRecording && $0.failure == nil }
    }

    /// The body from its start.
    ///
    /// The bodies handed out before read nothing more.
    public func body() -> HTTPBody {
        let owner = state.withLock { state in
            state.owner += 1
            state.isOwnerDone = false
            return state.owner
        }
        return .stream(Reader(buffer: self, owner: owner), length: length)
    }

    /// There will be no replay: forgets what was recorded, and from now on lets the source know when
    /// nobody wants the rest.
    public func release() {
        let isUnwanted = state.withLock { state in
            state.isRecording = false
            // The body being sent still reads what it has not seen.
            if state.isOwnerDone || state.owner <= 1 {
                state.pieces = []
                state.isIncomplete = true
            }
            return state.isOwnerDone && !state.isAtEnd
        }
        if isUnwanted { source.cancel() }
    }

    fileprivate func next(_ owner: Int, _ position: inout Int) async throws -> ByteSlice? {
        while true {
            switch state.withLock({ step(&$0, owner, position) }) {
            case .piece(let piece):
                position += 1
                return piece
            case .end: return nil
            case .failed(let error): throw error
            case .wait: await waitForHandover()
            case .read:
                guard let claim = claim(owner) else { continue }
                if let piece = try await read(claim) {
                    position += 1
                    return piece
                }
            }
        }
    }

    private func step(_ state: inout State, _ owner: Int, _ position: Int) -> Step {
        if owner != state.owner || state.isOwnerDone { return .failed(ReplayBuffer.superseded) }
        if position < state.pieces.count { return .piece(state.pieces[position]) }
        // Never a body with a hole: what is neither recorded nor to come ends the attempt.
        if position < state.seen { return .failed(ReplayBuffer.lost) }
        if state.isReading { return .wait }
        if let failure = state.failure { return .failed(failure) }
        return state.isAtEnd ? .end : .read
    }

    private func claim(_ owner: Int) -> Int? {
        state.withLock { state in
            guard owner == state.owner, !state.isReading, !state.isAtEnd else { return nil }
            state.isReading = true
            return owner
        }
    }

    /// Reads a piece; nothing if it belongs to another body by now, or if there is none.
    private func read(_ owner: Int) async throws -> ByteSlice? {
        do {
            let piece = try await source.next()
            return finishReading(piece, owner)
        } catch {
            let waiting = state.withLock { state in
                state.isReading = false
                // A wait that was called off lost nothing; anything else ends the body.
                if !(error is CancellationError) { state.failure = error }
                return state.handover.take()
            }
            waiting?.resume()
            throw error
        }
    }

    private func finishReading(_ piece: ByteSlice?, _ owner: Int) -> ByteSlice? {
        let (waiting, isOurs) = state.withLock { state in
            state.isReading = false
            if let piece {
                record(piece, isOverdue: state.owner != owner, &state)
            } else {
                state.isAtEnd = true
            }
            return (state.handover.take(), state.owner == owner)
        }
        waiting?.resume()
        // A recorded piece is read again by whoever has taken over.
        return isOurs ? piece : nil
    }

    /// Keeps a piece within the limit; one that is overdue (another body has taken over while it was
    /// on its way) that body needs, so the limit may be exceeded by it once.
    private func record(_ piece: ByteSlice, isOverdue: Bool, _ state: inout State) {
        state.seen += 1
        guard state.isRecording else {
            state.isIncomplete = true
            return
        }
        state.recorded += piece.count
        if state.recorded > limit, !isOverdue {
            state.isRecording = false
            state.isIncomplete = true
            state.pieces = []
        } else {
            state.pieces.append(
                piece.count < ReplayBuffer.copyBelow ? ByteSlice(piece.array) : piece
            )
        }
    }

    private func waitForHandover() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isLate = state.withLock { state in
                guard state.isReading, state.handover == nil else { return true }
                state.handover = continuation
                return false
            }
            if isLate { continuation.resume() }
        }
    }

    fileprivate func cancel(_ owner: Int) {
        let isUnwanted = state.withLock { state in
            guard owner == state.owner, !state.isOwnerDone else { return false }
            state.isOwnerDone = true
            return !state.isAtEnd && (state.isIncomplete || !state.isRecording)
        }
        if isUnwanted { source.cancel() }
    }

    fileprivate func trailers() -> HTTPHeaders? { source.trailers() }

    private static let superseded = NetworkError(
        .cancelled,
        side: .proxy,
        detail: "the body is being sent by another attempt"
    )
    private static let lost = NetworkError(
        .proxyInternalError,
        side: .proxy,
        detail: "the body cannot be sent a second time"
    )
}

/// One pass over a recorded body.
///
/// Read by one task at a time, as every `BodySource`.
private final class Reader: BodySource {
    let buffer: ReplayBuffer
    private let owner: Int
    private let position = Mutex(0)

    init(buffer: ReplayBuffer, owner: Int) {
        self.buffer = buffer
        self.owner = owner
    }

    func next() async throws -> ByteSlice? {
        var reached = position.withLock { $0 }
        defer { position.withLock { $0 = reached } }
        return try await buffer.next(owner, &reached)
    }

    func trailers() -> HTTPHeaders? { buffer.trailers() }

    func cancel() { buffer.cancel(owner) }
}
