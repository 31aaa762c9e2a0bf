import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyLiveObjects
@_spi(Proxying) import NetworkCore

/// The content of a request that streams, sent by a separate task, since the origin may respond before it has
/// read all of it.
///
/// A fault of the content's source ends the exchange. One of the origin does not, unless it takes too
/// long, since its answer may be here already.
final class Upload {
    private enum State {
        /// Waits until the origin requests the content (RFC 9110 §10.1.1), with the task if it waits by now.
        case held(CheckedContinuation<Void, Never>?)
        case sending
        case complete
        /// The rest is not sent; the exchange continues.
        case abandoned
        /// It ended the exchange.
        case failed(any Error)
    }

    private let source: any BodySource
    private let sink: any UploadSink
    private let peer: UpstreamPeer
    private var state: State
    private var task: Task<Void, Never>?
    private var answerDeadline: UInt64?
    /// Whether the content of the response is on its way: then what stops the upload does not end the
    /// exchange, since a slow app may still be reading.
    var isAnswered = false
    /// Called once when no more of the content is waited for.
    var onEnd: (() -> Void)?
    private let life = LiveObject(Upload.self)

    /// Prepares to send content.
    ///
    /// - Parameters:
    ///   - source: the content.
    ///   - sink: where the head of the request has been sent.
    ///   - peer: who gets it.
    ///   - isExpecting: whether to wait until the origin requests the content.
    init(
        _ source: any BodySource,
        to sink: any UploadSink,
        _ peer: UpstreamPeer,
        isExpecting: Bool
    ) {
        self.source = source
        self.sink = sink
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

    /// Whether the upload waits for the origin's request for the content.
    var isHeld: Bool {
        if case .held = state { true } else { false }
    }

    /// The error with which the upload ended the exchange, if it did.
    var fault: (any Error)? {
        if case .failed(let error) = state { error } else { nil }
    }

    /// The deadline of the response: `deadline` at the first call, which follows the end of the upload, and
    /// the same from then on, however slowly the response arrives.
    func answerDeadline(_ deadline: UInt64) -> UInt64 {
        let first = answerDeadline ?? deadline
        answerDeadline = first
        return first
    }

    /// Starts the task.
    func start() {
        let upload = LoopBound(self, on: sink.loop)
        task = Task(executorPreference: sink.loop) { await upload.value.run() }
    }

    /// Starts to send, since the origin has requested the content.
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
        do {
            while let piece = try await source.next() {
                try await write(piece)
                try Task.checkCancellation()
            }
            // A cancelled source may just end: that is not the end of the content.
            try Task.checkCancellation()
            try await write(nil)
        } catch is BodyWriter.LengthMismatch {
            throw NetworkError(
                .httpRequestError,
                side: .downstream,
                detail: BodyWriter.LengthMismatch.reason
            )
        }
    }

    private struct WriteFault: Error {
        let fault: IOError
    }

    /// Writes a piece, or the end; a cancelled task ends the wait for the origin, and only that: the answer
    /// may be on its way.
    private func write(_ piece: ByteSlice?) async throws {
        do {
            guard try !sink.write(piece) else { return }
            let bound = LoopBound(sink, on: sink.loop)
            let fault = await withTaskCancellationHandler {
                await IOError.thrown { [sink] () async throws(IOError) in
                    try await sink.finishWriting()
                }
            } onCancel: {
                bound.loop.submit { bound.value.cancelWrite() }
            }
            if let fault { throw fault }
        } catch let error as IOError {
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
        sink.abort()
    }

    private static func isTimeout(_ error: any Error) -> Bool {
        let kind = (error as? NetworkError)?.kind
        return kind == .connectionReadTimeout || kind == .requestBodyTimeout
    }
}

/// The destination of a request's content.
protocol UploadSink: AnyObject {
    var loop: EventLoop { get }

    /// Takes the next piece, or the end.
    ///
    /// - Returns: whether all of it is on its way; otherwise `finishWriting()` waits for that.
    /// - Throws: `IOError`, or `BodyWriter.LengthMismatch`.
    func write(_ piece: ByteSlice?) throws -> Bool

    /// Returns when the origin has accepted all written content.
    func finishWriting() async throws(IOError)

    /// Ends the present wait with `.aborted`.
    func cancelWrite()

    /// Ends the exchange.
    func abort()
}

/// Content that follows a head in HTTP/1.
final class SocketUpload: UploadSink {
    private let socket: StreamSocket
    private let idle: Duration?
    private var writer: BodyWriter
    private let output = OutputBuffer()
    /// The bytes that the kernel has not accepted yet.
    private var rest: (piece: ByteSlice?, written: Int)?

    var loop: EventLoop { socket.loop }

    /// Begins after the head.
    ///
    /// - Parameters:
    ///   - socket: where it was sent.
    ///   - length: of the content; chunks if that is unknown.
    ///   - idle: how long the kernel may take nothing.
    init(over socket: StreamSocket, _ length: Int?, idle: Duration?) {
        self.socket = socket
        self.idle = idle
        writer = BodyWriter(length.map { .length($0) } ?? .chunked)
    }

    func write(_ piece: ByteSlice?) throws -> Bool {
        var content: ByteSlice?
        if let piece {
            content = try writer.frame(piece, into: output)
        } else {
            try writer.end(into: output)
        }
        guard output.count > 0 || content != nil,
            let written = try socket.writeNow(output, &content)
        else { return true }
        rest = (content, written)
        return false
    }

    func finishWriting() async throws(IOError) {
        guard let (piece, written) = rest else { return }
        rest = nil
        try await socket.write(output, piece, from: written, idle: idle)
    }

    func cancelWrite() { socket.cancelWrite() }

    func abort() { socket.abort() }
}
