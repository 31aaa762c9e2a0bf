import NetproxyBytes
import Synchronization

/// A body whose beginning was read ahead; its reader gets that part first.
final class PeekedBody: BodySource {
    private struct State {
        var ahead: [ByteSlice]
        /// The error that ended the content during the read-ahead.
        var failure: (any Error)?
        var isAtEnd: Bool
    }

    private let rest: any BodySource
    private let state: Mutex<State>

    private init(_ state: State, rest: any BodySource) {
        self.rest = rest
        self.state = Mutex(state)
    }

    func next() async throws -> ByteSlice? {
        let ahead: ByteSlice? = try state.withLock { state in
            if !state.ahead.isEmpty { return state.ahead.removeFirst() }
            if let failure = state.failure { throw failure }
            return nil
        }
        if let ahead { return ahead }
        guard !state.withLock({ $0.isAtEnd }) else { return nil }
        return try await rest.next()
    }

    func buffered() -> ByteSlice? {
        let (ahead, isOver): (ByteSlice?, Bool) = state.withLock { state in
            if !state.ahead.isEmpty { return (state.ahead.removeFirst(), false) }
            return (nil, state.isAtEnd || state.failure != nil)
        }
        return ahead ?? (isOver ? nil : rest.buffered())
    }

    func trailers() -> HTTPHeaders? { rest.trailers() }

    func cancel() {
        state.withLock { state in
            state.ahead = []
            state.isAtEnd = true
        }
        rest.cancel()
    }
}

extension PeekedBody {
    /// The part of a body to read ahead.
    enum Reach {
        /// The part that has arrived, without waiting.
        case arrived
        /// The first piece, which is waited for, and the part that has arrived with it.
        case firstPiece
        /// The whole body, up to the limit.
        case whole
    }

    /// Reads the beginning of a body, and replaces the body by one that begins with those bytes.
    ///
    /// - Parameters:
    ///   - body: the body.
    ///   - limit: roughly the largest number of bytes to read.
    ///   - reach: the part to read.
    /// - Returns: the bytes, in one piece.
    static func peek(
        into body: inout HTTPBody,
        upTo limit: Int,
        _ reach: Reach
    ) async -> ByteSlice? {
        let source: any BodySource
        let length: Int?
        switch body {
        case .empty, .tunnel: return nil
        case .bytes(let bytes): return bytes
        case .stream(let stream, let announced): (source, length) = (stream, announced)
        }
        var ahead: [ByteSlice] = []
        var content: [UInt8] = []
        var failure: (any Error)?
        var isAtEnd = false
        while content.count < min(limit, length ?? limit), failure == nil, !isAtEnd {
            if let piece = source.buffered() {
                ahead.append(piece)
                content.append(contentsOf: piece.array)
                continue
            }
            guard reach == .whole || reach == .firstPiece && ahead.isEmpty else { break }
            do {
                guard let piece = try await source.nextUnlessCancelled() else {
                    isAtEnd = true
                    break
                }
                ahead.append(piece)
                content.append(contentsOf: piece.array)
            } catch {
                failure = error
            }
        }
        let state = State(ahead: ahead, failure: failure, isAtEnd: isAtEnd)
        body = .stream(PeekedBody(state, rest: source), length: length)
        return content.isEmpty ? nil : ByteSlice(content)
    }
}
