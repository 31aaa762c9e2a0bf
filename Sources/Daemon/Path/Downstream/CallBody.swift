import NetproxyBytes
import NetproxyHTTPMessage
import NetworkCore
import Synchronization

/// The content of the response to a gRPC call, which ends with a status if it is cut short.
///
/// gRPC has the status in the trailers, gRPC-Web in a last frame. Without it, the client would see a reset
/// stream, whose status clients do not retry.
final class CallBody: BodySource {
    private let source: any BodySource
    private let form: RPCForm
    /// Returns the end of the call for an error.
    private let ending: @Sendable (any Error) -> RPCEnding
    private let state: Mutex<State>

    private struct State {
        var frames: RPCFrames
        var cut: (cause: any Error, ending: RPCEnding)?
    }

    init(
        _ source: any BodySource,
        in form: RPCForm,
        ending: @escaping @Sendable (any Error) -> RPCEnding
    ) {
        self.source = source
        self.form = form
        self.ending = ending
        state = Mutex(State(frames: RPCFrames(form)))
    }

    /// The error that cut the content short, and the status that the client got instead.
    var cut: (cause: any Error, ending: RPCEnding)? { state.withLock { $0.cut } }

    func next() async throws -> ByteSlice? {
        guard cut == nil else { return nil }
        do {
            let piece = try await source.next()
            if let piece, form != .native {
                state.withLock { $0.frames.advance(over: piece.span) }
            }
            // A canceled source may simply end.
            if piece == nil, Task.isCancelled, !hasStatus { throw NetworkError.cancelled }
            return piece
        } catch {
            return try end(after: error)
        }
    }

    /// Returns the last frame, if the form has one.
    ///
    /// - Throws: the error, if the client would read the frame as a part of an incomplete message.
    private func end(after error: any Error) throws -> ByteSlice? {
        let ending = ending(error)
        let frames = state.withLock { $0.frames }
        guard form == .native || frames.isAtBoundary else { throw error }
        source.cancel()
        state.withLock { $0.cut = (error, ending) }
        return frames.hasStatus ? nil : ending.frame(in: form)
    }

    /// Whether the content ended with the server's own status.
    private var hasStatus: Bool {
        source.trailers()?.contains(RPCStatus.field) == true
            || state.withLock { $0.frames.hasStatus }
    }

    func trailers() -> HTTPHeaders? {
        guard let cut else { return source.trailers() }
        return form == .native ? cut.ending.fields : nil
    }

    func cancel() { source.cancel() }
}
