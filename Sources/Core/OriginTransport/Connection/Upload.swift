import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyLiveObjects
@_spi(Proxying) import NetworkCore

/// The streamed content of a request.
///
/// A separate task sends it, since the origin may respond before it has read all of it. An error of the
/// content's source ends the exchange. An error of the origin does not, unless it is a timeout: the response
/// may already have arrived. A timeout always ends the whole exchange, since the content would be lost.
final class Upload {
    private enum State {
        /// Waits until the origin requests the content (RFC 9110 §10.1.1); contains the task's continuation
        /// once the task waits.
        case held(CheckedContinuation<Void, Never>?)
        case sending
        case complete
        /// The rest is not sent; the exchange continues.
        case abandoned
        /// The upload ended the exchange.
        case failed(any Error)
    }

    private let source: any BodySource
    private let sink: any UploadSink
    private let peer: UpstreamPeer
    private var state: State
    private var task: Task<Void, Never>?
    private var answerDeadline: UInt64?
    /// Whether the content of the response is arriving.
    ///
    /// From then on, a failed write does not end the exchange, since a slow client may still be reading.
    var isAnswered = false
    /// Called once when nothing waits for more content.
    var onEnd: (() -> Void)?
    private let life = LiveObject(Upload.self)

    /// Prepares to send content.
    ///
    /// - Parameters:
    ///   - source: the content.
    ///   - sink: the destination, which has received the head of the request.
    ///   - peer: the origin.
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

    /// Whether part of the content has not been sent yet.
    var isRunning: Bool {
        switch state {
        case .held, .sending: true
        case .complete, .abandoned, .failed: false
        }
    }

    /// Whether all of the content was sent; otherwise the connection cannot be reused.
    var isComplete: Bool {
        if case .complete = state { true } else { false }
    }

    /// Whether the upload waits until the origin requests the content.
    var isHeld: Bool {
        if case .held = state { true } else { false }
    }

    /// The error with which the upload ended the exchange, or `nil`.
    var fault: (any Error)? {
        if case .failed(let error) = state { error } else { nil }
    }

    /// Returns the deadline of the response, fixed by the first call after the end of the upload.
    ///
    /// Later calls return the same deadline, however slowly the response arrives.
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

    /// Starts to send because the origin has requested the content.
    func proceed() {
        if isHeld { leave(for: .sending) }
    }

    /// Stops sending because the rest is not wanted.
    func cancel() {
        if isRunning {
            leave(for: .abandoned)
            source.cancel()
        }
        task?.cancel()
    }

    /// Sends the rest, and returns when that has ended.
    ///
    /// - Throws: the fault of the upload, or `closedByPeer` if the origin does not read the rest.
    func complete() async throws {
        proceed()
        await task?.value
        if let fault { throw fault }
        guard isComplete else { throw peer.error(.closedByPeer, in: .sending) }
    }

    /// Stops sending, and returns once the source is no longer being read.
    func end() async {
        cancel()
        await task?.value
    }

    // Never inlined: the size of a continuation is known only at run time, and each wait for a head would
    // reserve space for one.
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
            // After a cancellation, the source's error does not concern the exchange.
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
            // A canceled source may simply end; that is not the end of the content.
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

    /// Writes a piece, or the end.
    ///
    /// A canceled task stops only the wait for the origin, since the response may be arriving.
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
        case let error as WriteFault
        where error.fault == .closedByPeer || isAnswered && error.fault != .timedOut:
            // The response may still have arrived, and its deadline starts now. After any other error the
            // origin waits for the rest of the request, so no response can be expected.
            source.cancel()
            state = .abandoned
        case let error as WriteFault:
            source.cancel()
            abort(with: peer.error(error.fault, in: .sending))
        default: abort(with: error)
        }
    }

    private func abort(with error: any Error) {
        state = .failed(error)
        sink.abort()
    }
}

/// The destination of a request's content.
protocol UploadSink: AnyObject {
    var loop: EventLoop { get }

    /// Accepts the next piece, or the end.
    ///
    /// - Returns: whether all of it was accepted; otherwise `finishWriting()` waits for the rest.
    /// - Throws: `IOError`, or `BodyWriter.LengthMismatch`.
    func write(_ piece: ByteSlice?) throws -> Bool

    /// Returns once the origin has accepted all written content.
    func finishWriting() async throws(IOError)

    /// Ends the current wait with `.aborted`.
    func cancelWrite()

    /// Ends the exchange.
    func abort()
}

/// The content that follows a request head in HTTP/1.
final class SocketUpload: UploadSink {
    private let socket: StreamSocket
    private let idle: Duration?
    private let lastReceived: () -> UInt64
    private var writer: BodyWriter
    private let output = OutputBuffer()
    /// The bytes that the kernel has not accepted yet.
    private var rest: (piece: ByteSlice?, written: Int)?

    var loop: EventLoop { socket.loop }

    /// Begins after the head.
    ///
    /// - Parameters:
    ///   - socket: the connection that carried the head.
    ///   - length: the length of the content; if unknown, the content is chunked.
    ///   - idle: the longest time without a byte in either direction.
    ///   - lastReceived: returns the time of the last byte of the response.
    init(
        over socket: StreamSocket,
        _ length: Int?,
        idle: Duration?,
        lastReceived: @escaping () -> UInt64
    ) {
        self.socket = socket
        self.idle = idle
        self.lastReceived = lastReceived
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
        try await socket.write(output, piece, from: written, idle: idle, since: lastReceived)
    }

    func cancelWrite() { socket.cancelWrite() }

    func abort() { socket.abort() }
}
