import Bytes
import EventIO
import HTTP1
@_spi(Proxying) import NetworkCore

/// The content of a request that streams, sent by a separate task: the origin may answer before it
/// has read all of it.
///
/// A fault of the content's source ends the exchange. One of the origin does not, unless it takes too
/// long, since its answer may be here already.
final class Upload {
    private enum State {
        /// Waits until the origin asks for it (RFC 9110 §10.1.1), with the task if that waits by now.
        case held(CheckedContinuation<Void, Never>?)
        case sending
        case complete
        /// The rest is not sent; the exchange goes on.
        case abandoned
        /// It ended the exchange.
        case failed(any Error)
    }

    private let source: any BodySource
    private let framing: BodyFraming
    private let socket: StreamSocket
    private let peer: UpstreamPeer
    private var state: State
    private var task: Task<Void, Never>?
    private var answerDeadline: UInt64?
    /// Whether the content of the response is on its way: then what stops the upload does not end the
    /// exchange, since a slow app may still be reading.
    var isAnswered = false
    /// Called once when no more of the content is waited for.
    var onEnd: (() -> Void)?

    /// Prepares to send content.
    ///
    /// - Parameters:
    ///   - source: the content.
    ///   - framing: its length, or chunks if that is unknown.
    ///   - socket: where the head of the request has been sent.
    ///   - peer: whose idle timeout limits each write.
    ///   - isExpecting: whether to wait until the origin asks for the content.
    init(
        _ source: any BodySource,
        _ framing: BodyFraming,
        over socket: StreamSocket,
        _ peer: UpstreamPeer,
        isExpecting: Bool
    ) {
        self.source = source
        self.framing = framing
        self.socket = socket
        self.peer = peer
        state = isExpecting ? .held(nil) : .sending
    }

    /// Whether some of the content is still to be sent.
    var isRunning: Bool {
        switch state {
        case .held, .sending: true
        case .complete, .abandoned, .failed: false
        }
    }

    /// Whether all of the content has been sent; otherwise the connection cannot be used again.
    var isComplete: Bool {
        if case .complete = state { true } else { false }
    }

    /// Whether the origin still waits to be asked.
    var isHeld: Bool {
        if case .held = state { true } else { false }
    }

    /// Why it ended the exchange, if it did.
    var fault: (any Error)? {
        if case .failed(let error) = state { error } else { nil }
    }

    /// When the answer is due: `deadline` at the first call, which follows the end of the upload, and
    /// the same from then on, however slowly the answer comes.
    func answerDeadline(_ deadline: UInt64) -> UInt64 {
        let first = answerDeadline ?? deadline
        answerDeadline = first
        return first
    }

    /// Starts the task.
    func start() {
        let upload = LoopBound(self, on: socket.loop)
        task = Task(executorPreference: socket.loop) { await upload.value.run() }
    }

    /// The origin asked for the content.
    func proceed() {
        if isHeld { leave(for: .sending) }
    }

    /// Stops sending: the rest is not wanted.
    func cancel() {
        if isRunning {
            leave(for: .abandoned)
            source.cancel()
        }
        task?.cancel()
    }

    /// Stops sending, and returns when the source is no longer read.
    func end() async {
        cancel()
        await task?.value
    }

    // Never inlined: how large a continuation is, is known at run time only, and each wait for a head
    // would make room for one.
    @inline(never)
    private func leave(for next: State) {
        if case .held(let continuation) = state { continuation?.resume() }
        state = next
    }

    // MARK: - The task

    private func run() async {
        defer { onEnd.take()?() }
        if isHeld { await withCheckedContinuation { state = .held($0) } }
        do {
            try await sendPieces()
            if isRunning { state = .complete }
        } catch {
            // Cancelled: the source's error is not the exchange's.
            if isRunning { fail(error) }
        }
    }

    private func sendPieces() async throws {
        try Task.checkCancellation()
        let output = socket.loop.outputs.take()
        defer { socket.loop.outputs.give(output) }
        var writer = BodyWriter(framing)
        do {
            while let piece = try await source.next() {
                let content = try writer.frame(piece, into: output)
                try await write(output, content)
                try Task.checkCancellation()
            }
            // A cancelled source may just end: that is not the end of the content.
            try Task.checkCancellation()
            try writer.end(into: output)
        } catch is BodyWriter.LengthMismatch {
            throw NetworkError(
                .httpRequestError,
                side: .downstream,
                detail: BodyWriter.LengthMismatch.reason
            )
        }
        if output.count > 0 { try await write(output, nil) }
    }

    private struct WriteFault: Error {
        let fault: IOError
    }

    /// Writes a piece; a cancelled task ends the wait for the kernel, and only that: the answer may be
    /// on its way.
    private func write(_ output: OutputBuffer, _ piece: ByteSlice?) async throws {
        var piece = piece
        do throws(IOError) {
            guard let written = try socket.writeNow(output, &piece) else { return }
            let idle = peer.options.idleTimeout
            let bound = LoopBound(socket, on: socket.loop)
            let fault = await withTaskCancellationHandler {
                await IOError.thrown { [piece] () async throws(IOError) in
                    try await socket.write(output, piece, from: written, idle: idle)
                }
            } onCancel: {
                bound.loop.submit { bound.value.cancelWrite() }
            }
            if let fault { throw fault }
        } catch {
            throw WriteFault(fault: error)
        }
    }

    private func fail(_ error: any Error) {
        switch error {
        case let error as WriteFault where isAnswered || error.fault == .closedByPeer:
            // Its answer may be here all the same, and from now on has a deadline. After any other
            // fault the origin waits for the rest of the request, and no answer is to be expected.
            source.cancel()
            state = .abandoned
        case let error as WriteFault:
            source.cancel()
            abort(with: peer.error(error.fault, in: .sending))
        case let error where isAnswered && Upload.isTimeout(error): state = .abandoned
        default: abort(with: error)
        }
    }

    private func abort(with error: any Error) {
        state = .failed(error)
        socket.abort()
    }

    private static func isTimeout(_ error: any Error) -> Bool {
        let kind = (error as? NetworkError)?.kind
        return kind == .connectionReadTimeout || kind == .requestBodyTimeout
    }
}
