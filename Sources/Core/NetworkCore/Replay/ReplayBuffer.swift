import NetproxyBytes
import NetproxySystem
import Synchronization

/// The store for a body that is too long to be kept in memory for a replay.
public struct BodySpill: Sendable, Hashable {
    /// The directory of the file, which has no name and is deleted after the exchange.
    public var directory: String
    /// The maximum length of a body, in bytes, including its beginning in memory.
    public var limit: Int

    /// Creates a store.
    public init(directory: String, limit: Int) {
        self.directory = directory
        self.limit = limit
    }
}

/// Records a request body during its first send, so that it can be sent again.
///
/// It never makes the first attempt fail. Above `limit` bytes, the rest goes to a file if there is a `spill`.
/// Above its limit, or if the disk is full, the body is no longer replayable and the recording is discarded.
/// If
/// the first attempt ended before it had read everything, the second one reads the rest from the source. Only
/// one
/// body is sent at a time: a new one takes the source over from its predecessor.
public final class ReplayBuffer: Sendable {
    /// The state of the recording.
    ///
    /// Transitions only go down this table:
    ///
    /// | | another body is available | canceling a body reaches the source |
    /// |---|---|---|
    /// | `on` | yes, unless the source failed | no: another body may need the rest |
    /// | `givenUp` | until a piece was read | once a piece was read |
    /// | `released` | until a piece was read | yes |
    private enum Recording {
        /// All bytes read so far are kept.
        case on
        /// The body is too long, or the disk is full.
        case givenUp
        /// There will be no replay.
        case released
    }

    private struct State {
        var recorded = RecordedBody()
        /// The number of bytes read from the source, recorded or not.
        var seen = 0
        var recording: Recording
        var isAtEnd = false
        var failure: (any Error)?
        /// The number of the body that may read from the source.
        var owner = 0
        /// Whether the owner has been canceled.
        var isOwnerDone = false
        var isReading = false
        /// The bodies that wait for the current read to end, to take over.
        var handovers: [CheckedContinuation<Void, Never>] = []

        /// Whether the body is recorded completely, or no byte has been read.
        ///
        /// An origin that refuses a request with `Expect: 100-continue` leaves the body unread.
        var isReplayable: Bool {
            guard failure == nil else { return false }
            return recording == .on || seen == 0 && !isReading
        }
    }

    /// The next action of a body.
    private enum NextAction {
        case piece(ByteSlice)
        case stored(SpillFile, offset: Int, count: Int)
        case end
        case failed(any Error)
        /// Read from the source, exclusively until the read ends.
        case read
        /// Wait, because another body is still reading.
        case wait
    }

    private let source: any BodySource
    private let length: Int?
    private let limit: Int
    private let spill: BodySpill?
    private let state: Mutex<State>

    /// Creates a buffer that records a body.
    ///
    /// - Parameters:
    ///   - source: the source of the body.
    ///   - length: the length of the body, if known; a body longer than all limits is not recorded at all.
    ///   - limit: the maximum number of bytes to keep in memory.
    ///   - spill: the store for longer bodies; `nil` if they are not kept.
    public init(_ source: any BodySource, length: Int?, limit: Int, spill: BodySpill? = nil) {
        self.source = source
        self.length = length
        self.limit = limit
        self.spill = spill
        let most = max(limit, spill?.limit ?? 0)
        let isHopeless = most <= 0 || (length ?? 0) > most
        state = Mutex(State(recording: isHopeless ? .givenUp : .on))
    }

    /// Returns the buffer that already records a body, if there is one.
    package static func recording(_ body: HTTPBody) -> ReplayBuffer? {
        guard case .stream(let reader as ReplayReader, _) = body else { return nil }
        return reader.buffer
    }

    /// Whether the bytes are recorded as they are read.
    var isRecording: Bool { state.withLock { $0.recording == .on } }

    /// Whether any part of the body has been read or is being read.
    var hasBegun: Bool { state.withLock { $0.seen > 0 || $0.isReading } }

    /// Whether the body can be sent again from its start.
    public var isReplayable: Bool {
        state.withLock { $0.isReplayable }
    }

    /// Returns the body from its start, if it can be sent again.
    ///
    /// Bodies returned earlier can no longer be read.
    public func replay() -> HTTPBody? {
        state.withLock { $0.isReplayable ? take(&$0) : nil }
    }

    /// Returns the body from its start.
    ///
    /// Bodies returned earlier can no longer be read.
    public func body() -> HTTPBody {
        state.withLock { take(&$0) }
    }

    private func take(_ state: inout State) -> HTTPBody {
        state.owner += 1
        state.isOwnerDone = false
        return .stream(ReplayReader(buffer: self, owner: state.owner), length: length)
    }

    /// Ends the recording, because there will be no replay.
    ///
    /// Discards the recorded bytes; from now on, canceling a body cancels the source.
    public func release() {
        let isUnwanted = state.withLock { state in
            state.recording = .released
            // A second body may still need the recorded part.
            if state.isOwnerDone || state.owner <= 1 { state.recorded.clear() }
            return state.isOwnerDone && !state.isAtEnd
        }
        if isUnwanted { source.cancel() }
    }

    func next(_ owner: Int, _ position: inout Int) async throws -> ByteSlice? {
        while true {
            switch state.withLock({ step(&$0, owner, position) }) {
            case .piece(let piece):
                position += piece.count
                return piece
            case .stored(let file, let offset, let count):
                do {
                    let piece = try await OffLoop.run {
                        ByteSlice(try file.read(count, at: offset))
                    }
                    position += piece.count
                    return piece
                } catch let error as FileError {
                    throw NetworkError(
                        .internalError,
                        side: .proxy,
                        detail: "content that was kept for another attempt cannot be read: \(error)"
                    )
                }
            case .end: return nil
            case .failed(let error): throw error
            case .wait: await waitForHandover()
            case .read:
                if let piece = try await read(owner) {
                    position += piece.count
                    return piece
                }
            }
        }
    }

    private func step(_ state: inout State, _ owner: Int, _ position: Int) -> NextAction {
        if owner != state.owner || state.isOwnerDone { return .failed(ReplayBuffer.superseded) }
        switch state.recorded.place(at: position) {
        case .memory(let piece): return .piece(piece)
        case .file(let file, let offset, let count):
            return .stored(file, offset: offset, count: count)
        case nil: break
        }
        // A body must not have a gap, so bytes that are neither recorded nor still to come end the attempt.
        if position < state.seen { return .failed(ReplayBuffer.lost) }
        if state.isReading { return .wait }
        if let failure = state.failure { return .failed(failure) }
        if state.isAtEnd { return .end }
        state.isReading = true
        return .read
    }

    /// Reads a piece; returns `nil` at the end, or if another body has taken over.
    private func read(_ owner: Int) async throws -> ByteSlice? {
        let piece: ByteSlice?
        do {
            // A source that ended because of cancellation has not reached its end.
            piece = try await source.nextUnlessCancelled()
        } catch {
            let waiting = state.withLock { state in
                state.isReading = false
                // A canceled wait loses no content; any other error ends the body.
                if !(error is CancellationError) { state.failure = error }
                defer { state.handovers = [] }
                return state.handovers
            }
            for waiter in waiting { waiter.resume() }
            throw error
        }
        var file: SpillFile?
        if let piece, let spill, let offset = spillOffset(of: piece) {
            let known = state.withLock { $0.recorded.spillFile }
            // A full disk ends the recording but not the upload.
            file = try? await OffLoop.run {
                let file = try known ?? SpillFile(in: spill.directory)
                try file.write(piece, at: offset)
                return file
            }
        }
        return finishReading(piece, owner, writtenTo: file)
    }

    /// Returns the position of a piece in the file; `nil` if the piece does not go to the file.
    private func spillOffset(of piece: ByteSlice) -> Int? {
        state.withLock { state in
            guard let spill, state.recording == .on else { return nil }
            let length = state.recorded.count + piece.count
            guard length > limit || state.recorded.fileCount > 0, length <= spill.limit else {
                return nil
            }
            return state.recorded.fileCount
        }
    }

    private func finishReading(
        _ piece: ByteSlice?,
        _ owner: Int,
        writtenTo file: SpillFile?
    ) -> ByteSlice? {
        let (waiting, isOurs) = state.withLock { state in
            state.isReading = false
            if let piece {
                // A body that has taken over needs the piece that was being read, so that piece may exceed
                // the limit.
                record(piece, file, upTo: state.owner == owner ? limit : .max, &state)
            } else {
                state.isAtEnd = true
            }
            defer { state.handovers = [] }
            return (state.handovers, state.owner == owner)
        }
        for waiter in waiting { waiter.resume() }
        // The body that has taken over reads the recorded piece again.
        return isOurs ? piece : nil
    }

    /// Keeps a piece if the total stays within a limit, or counts it as written to the file.
    private func record(
        _ piece: ByteSlice,
        _ file: SpillFile?,
        upTo most: Int,
        _ state: inout State
    ) {
        state.seen += piece.count
        guard state.recording == .on else { return }
        if let file {
            state.recorded.append(written: piece.count, in: file)
        } else if state.recorded.fileCount == 0,
            state.recorded.count + piece.count <= most
        {
            state.recorded.append(piece)
        } else {
            state.recording = .givenUp
            state.recorded.clear()
        }
    }

    private func waitForHandover() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isLate = state.withLock { state in
                guard state.isReading else { return true }
                state.handovers.append(continuation)
                return false
            }
            if isLate { continuation.resume() }
        }
    }

    func cancel(_ owner: Int) {
        let isUnwanted = state.withLock { state in
            guard owner == state.owner, !state.isOwnerDone else { return false }
            state.isOwnerDone = true
            guard !state.isAtEnd else { return false }
            return switch state.recording {
            case .on: false
            case .givenUp: state.seen > 0
            case .released: true
            }
        }
        if isUnwanted { source.cancel() }
    }

    func trailers() -> HTTPHeaders? { source.trailers() }

    private static let superseded = NetworkError(
        .cancelled,
        side: .proxy,
        detail: "the body is being sent by another attempt"
    )
    private static let lost = NetworkError(
        .internalError,
        side: .proxy,
        detail: "the body cannot be sent a second time"
    )
}
