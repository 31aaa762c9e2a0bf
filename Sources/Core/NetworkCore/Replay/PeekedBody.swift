import NetproxyBytes
import Synchronization

/// A body of which the beginning has been read ahead, and is read again by the body's reader.
final class PeekedBody: BodySource {
    private struct State {
        var ahead: [ByteSlice]
        /// What ended the content while it was read ahead.
        var failure: (any Error)?
        var isAtEnd: Bool
    }

    private let rest: any BodySource
    private let state: Mutex<State>

    private init(_ ahead: [ByteSlice], _ failure: (any Error)?, isAtEnd: Bool, rest: any BodySource)
    {
        self.rest = rest
        state = Mutex(State(ahead: ahead, failure: failure, isAtEnd: isAtEnd))
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
    /// How far a body is read ahead.
    enum Reach {
        /// What has arrived: nothing is waited for.
        case arrived
        /// The whole body, or as much of it as the limit allows.
        case whole
    }

    /// Reads the beginning of a body, and puts a body in its place that begins with it.
    ///
    /// - Parameters:
    ///   - body: the body.
    ///   - limit: about how many bytes are read at most.
    ///   - reach: how far.
    /// - Returns: what was read, in one piece.
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
            guard reach == .whole else { break }
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
        body = .stream(
            PeekedBody(ahead, failure, isAtEnd: isAtEnd, rest: source),
            length: length
        )
        return content.isEmpty ? nil : ByteSlice(content)
    }
}
