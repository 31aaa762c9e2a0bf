import NetproxyBytes
package import NetproxyEventIO
package import NetproxyHTTP1
import NetproxyHTTP2
package import NetproxyHTTPMessage
import NetproxyLiveObjects
package import NetworkCore
import OriginTransport

/// One request of a client that speaks HTTP/2, and its response.
///
/// Not `Sendable`: it never leaves its loop.
package final class DownstreamStream: DownstreamExchange {
    let id: Int32
    package let session: DownstreamSession
    var request: CurrentRequest
    package var listener: ListenerSource { session.listener }
    package let peer: SocketPeer
    /// The task that serves the exchange, which retains this stream; `finish()` ends both.
    package var service: DownstreamService?
    package var interim: InterimWriter? { service?.interim }
    private var head: RequestHead?
    /// The readable part of a refused request.
    private let refused: RefusedRequest?
    /// Whether the content may be a conversation, in which each side waits for the other.
    private let isConversation: Bool
    let stream: ExchangeStream
    private var pace: BodyPace
    /// The number of the current read: a late cancellation does not end a later read.
    private var read = 0
    /// Whether the content has a reader, which sees every fault of the content.
    private var hasSource = false
    private var pending: PendingStreamResponse?
    private let life = LiveObject(DownstreamStream.self)

    private var state: StreamState { stream.state }
    private var hasBegunResponse: Bool { state.outgoing != .head }
    var loop: EventLoop { session.loop }

    /// Creates a request from its head.
    init(_ id: Int32, on session: DownstreamSession, _ head: RequestHead, ends: Bool) {
        self.id = id
        self.session = session
        self.head = head
        refused = nil
        isConversation = RPCForm(of: head.headers) == .native
        peer = session.peer
        pace = BodyPace(rate: session.bounds.bodyRate)
        stream = ExchangeStream(id, over: session.wire)
        stream.receiveHead(head.framing)
        if ends { stream.receiveEnd() }
        request = CurrentRequest(number: Int(id))
        request.owesContinue = head.expectsContinue && !ends
        request.takesTrailers = true
    }

    /// Creates a refused request.
    init(
        _ id: Int32,
        on session: DownstreamSession,
        _ fault: HTTP2Fault,
        _ request: RefusedRequest?
    ) {
        self.id = id
        self.session = session
        refused = request
        isConversation = false
        peer = session.peer
        pace = BodyPace(rate: nil)
        stream = ExchangeStream(id, over: session.wire)
        stream.refuse(fault)
        self.request = CurrentRequest(number: Int(id))
        self.request.takesTrailers = true
    }

    /// The error of a refused head.
    package var refusal: NetworkError? { head == nil ? state.fault.map { error($0) } : nil }

    private func error(_ fault: HTTP2Fault) -> NetworkError {
        NetworkError(fault, session.bounds.limits)
    }

    // MARK: - Events of the session

    /// Ends the request because its content violates the protocol: its reader responds with the fault, or
    /// the stream is reset.
    func fail(_ fault: HTTP2Fault) {
        stream.refuse(fault)
        guard !hasSource || hasBegunResponse else { return }
        perform(stream.reset(.protocolError))
        close(.stream(.protocolError))
    }

    /// Closes the stream in both directions.
    func close(_ end: StreamState.End) { perform(stream.close(end)) }

    /// Frees the objects of the exchange, once its task has ended.
    ///
    /// An upload may still send the rest of a complete request to the upstream, but an incomplete request
    /// gets no more content.
    func finish() {
        service = nil
        head = nil
        pending = nil
        perform(stream.finish())
    }

    /// Ends the exchange at once; a response that has not begun contains the reason.
    func cut() {
        abort()
        stream.stopReceiving(.noError)
        if hasBegunResponse { stream.stopWriting() }
    }

    private func perform(_ action: StreamState.Action) {
        switch action {
        case .reset(let code): session.send { $0.reset(id, code) }
        case .abort: abort()
        case .none, .deliver, .drop, .refuse, .send, .mismatch, .wake, .free: break
        }
    }

    /// Ends the waits of the task.
    private func abort() {
        service?.task.cancel()
        service?.relay.abort()
    }

    // MARK: - The request

    var sender: ObjectIdentifier { ObjectIdentifier(session) }
    package var localAddress: SocketAddress? { session.localAddress }
    package var shutdown: DownstreamState.Shutdown { session.shutdown }
    package var connection: DownstreamConnection? { nil }
    package var version: HTTPVersion { .http2 }

    package func takeHead() -> RequestHead { head.take() ?? unreadHead }

    package var unreadHead: RequestHead {
        requestLine ?? .refused(.get, path: "/", contentType: refused?.contentType)
    }

    package var requestLine: RequestHead? {
        guard let refused, let line = refused.line else { return nil }
        return .refused(line.method, path: line.path, contentType: refused.contentType)
    }

    package func requestBody(_ framing: BodyFraming) -> HTTPBody {
        if let whole { return whole }
        switch framing {
        case .none, .untilClose, .length(0): return .empty
        case .length(let length): return .stream(source, length: length)
        case .chunked: return .stream(source, length: nil)
        }
    }

    private var source: DownstreamStreamBody {
        hasSource = true
        return DownstreamStreamBody(self)
    }

    /// The content, if all of it has arrived.
    private var whole: HTTPBody? {
        let count = stream.unread
        guard state.isComplete, count <= DownstreamStream.gatheringLimit else { return nil }
        request.owesContinue = false
        guard count > 0 else { return .empty }
        request.bytesIn += count
        return .bytes(stream.takeAll())
    }

    package func gather(_ body: HTTPBody) async throws(NetworkError) -> HTTPBody {
        guard !request.owesContinue, case .stream = body, !isConversation else {
            return body
        }
        let deadline = loop.deadline(after: DownstreamStream.gatheringTime)
        while state.isReceiving, stream.unread < DownstreamStream.gatheringLimit {
            guard await stream.wait(until: deadline) != .deadline else { break }
        }
        if let fault = state.fault { throw error(fault) }
        return whole ?? body
    }

    private static let gatheringTime = Duration.milliseconds(100)
    private static let gatheringLimit = 64 * 1024

    /// Returns the next piece of the request's content.
    func nextPiece() async throws -> ByteSlice? {
        if request.owesContinue {
            request.owesContinue = false
            try await writeInterim(100, [:])
        }
        while true {
            if let piece = stream.take() {
                request.bytesIn += piece.count
                return piece
            }
            switch state.incoming {
            case .ended: return nil
            case .failed(let fault): throw error(fault)
            case .unwanted: throw CancellationError()
            case .cut:
                try Task.checkCancellation()
                throw NetworkError.uploadCut
            case .head, .content, .noContent:
                try Task.checkCancellation()
                try await waitForContent()
            }
        }
    }

    private func waitForContent() async throws {
        let started = loop.now
        defer { pace.waited(from: started, to: loop.now) }
        while true {
            let slowest =
                hasBegunResponse ? .max : pace.deadline(after: request.bytesIn, now: started)
            switch await stream.wait(until: min(request.idleDeadline(since: started), slowest)) {
            case .news, .over: return
            case .canceled: throw CancellationError()
            case .deadline where loop.now >= request.idleDeadline(since: started):
                throw NetworkError.timeout(.requestBody, after: request.idleSetting)
            case .deadline: guard hasBegunResponse else { throw session.bounds.slowBody }
            }
        }
    }

    /// Begins a read of the content, and returns its number.
    func beginRead() -> Int {
        read += 1
        return read
    }

    /// Cancels one read of the content, but no later one.
    func cancelRead(_ number: Int) {
        if number == read { stream.endWait(.canceled) }
    }

    // MARK: - The response

    package var isWritingInterim: Bool { false }
    /// Whether the connection persists: the end of a stream does not affect it.
    package var persists: Bool { true }

    package func interimWritten() async {}

    package func writeInterim(_ status: HTTPStatus, _ headers: HTTPHeaders) async throws {
        guard !hasBegunResponse else { return }
        let output = loop.outputs.take()
        defer { loop.outputs.give(output) }
        HeadEncoder.encodeInformational(status: status, headers: headers, into: output)
        session.send { $0.sendInterim(output, on: id) }
    }

    func beginResponse(
        _ message: borrowing Response,
        to head: borrowing RequestHead,
        _ persistence: Persistence
    ) -> WrittenResponse {
        guard state.isSending else {
            message.body.cancel()
            var broken = WrittenResponse(.broken)
            broken.fail(NetworkError.clientGone)
            return broken
        }
        request.owesContinue = false
        let output = loop.outputs.take()
        defer { loop.outputs.give(output) }
        var plan = StreamResponse(message, to: head.method)
        plan.encode(message, at: loop.wallNow, into: output)
        _ = stream.state.sendHead(length: plan.source == nil ? nil : plan.length)
        let end = plan.source == nil ? stream.state.sendEnd() : .none
        session.send {
            $0.sendResponse(output, on: id, hasContent: plan.hasContent)
            if let content = plan.content { $0.send(content, on: id) }
            if end == .send { $0.end(id) }
        }
        guard let source = plan.source.take() else {
            endRequest()
            return WrittenResponse(.done, bytesOut: plan.content?.count ?? 0, isHeadOut: true)
        }
        pending = PendingStreamResponse(source: source)
        request.lastSent = loop.now
        return WrittenResponse(.body, isHeadOut: true)
    }

    func finishResponse() async -> WrittenResponse {
        guard let pending = pending.take() else { return WrittenResponse(.done, isHeadOut: true) }
        var written = WrittenResponse(.body, isHeadOut: true)
        do {
            while !state.hasSentLength, let piece = try await pending.source.next() {
                try await send(piece, of: pending.source)
                written.bytesOut += piece.count
            }
            var trailers = pending.source.trailers()
            request.sent?.remove(from: &trailers)
            guard sendEnd(trailers) != .mismatch else { throw BodyWriter.LengthMismatch() }
            endRequest()
            written.finish(trailers)
            return written
        } catch is BodyWriter.LengthMismatch {
            let reason = BodyWriter.LengthMismatch.reason
            written.fail(NetworkError(.internalError, side: .proxy, detail: reason))
        } catch {
            written.fail(error)
        }
        pending.source.cancel()
        return written
    }

    /// Sends a piece of content, and waits until the client has room for it.
    private func send(_ piece: ByteSlice, of source: any BodySource) async throws {
        guard state.isSending else { throw NetworkError.clientGone }
        guard stream.send(piece.count) == .send else { throw BodyWriter.LengthMismatch() }
        if state.hasSentLength, try await source.next() != nil {
            throw BodyWriter.LengthMismatch()
        }
        // The end goes with the last bytes: if these fill the window, no room would be left for it.
        let isLast = state.hasSentLength && source.trailers() == nil
        let end = isLast ? stream.state.sendEnd() : .none
        session.send {
            $0.send(piece, on: id)
            if end == .send { $0.end(id) }
        }
        // After a cut, nothing waits for the client; the status of a call is the last piece.
        if shutdown == .cut, (source as? CallBody)?.cut != nil { return }
        if shutdown == .cut { stream.stopWriting() }
        switch await stream.waitForRoom(idle: request.idleTimeout) {
        case nil: request.lastSent = loop.now
        case .deadline: throw NetworkError.timeout(.delivery, after: request.idleSetting)
        case .news, .canceled, .over: throw NetworkError.clientGone
        }
    }

    /// Ends the response, unless it has ended already.
    private func sendEnd(_ trailers: HTTPHeaders? = nil) -> StreamState.Action {
        let action = stream.state.sendEnd()
        if action == .send { session.send { $0.end(id, trailers: trailers) } }
        return action
    }

    /// Refuses the rest of the request after a complete response (RFC 9113 §8.1).
    private func endRequest() {
        guard !state.isComplete else { return }
        stream.stopReceiving(.noError)
        session.send { $0.stopReceiving(on: id) }
    }

    package func closeAfterLingering() async {}

    package func reset() {
        perform(stream.breakOff())
    }
}

/// A response with streamed content.
struct PendingStreamResponse {
    let source: any BodySource
}

/// A response in the form of HTTP/2: the same as in HTTP/1, without the connection fields.
struct StreamResponse: ~Copyable {
    private(set) var content: ByteSlice?
    var source: (any BodySource)?
    private var framing: BodyFraming
    private var announced: Int?
    /// Whether content follows the head.
    var hasContent: Bool { content != nil || source != nil }
    /// The length of the content, if it is known.
    var length: Int? { if case .length(let length) = framing { length } else { nil } }

    init(_ response: borrowing Response, to method: HTTPMethod) {
        let status = response.status
        let isBare = status == 204 || status == 304 || method == .head
        switch response.body {
        case .empty, .tunnel: framing = isBare ? .none : .length(0)
        case .bytes(let bytes):
            framing = .length(bytes.count)
            content = bytes
        case .stream(let stream, let length):
            framing = length.map { .length($0) } ?? .chunked
            source = stream
        }
        if isBare {
            source?.cancel()
            (content, source) = (nil, nil)
        }
        announced = response.announcedLength
        if status == 204 || status.kind == .informational {
            (framing, announced) = (.none, nil)
        } else if announced != nil {
            framing = .none
        }
        if content?.isEmpty == true { content = nil }
    }

    func encode(_ response: borrowing Response, at now: UInt64, into output: OutputBuffer) {
        HeadEncoder.encodeResponse(
            status: response.status,
            headers: response.headers,
            date: response.headers.contains(KnownField.date) ? nil : now / 1_000_000_000,
            framing: framing,
            announcedLength: announced,
            into: output
        )
    }
}

/// The content of a client's request, read as fast as the upstream accepts it.
final class DownstreamStreamBody: BodySource {
    private let stream: LoopBound<DownstreamStream>

    init(_ stream: DownstreamStream) {
        self.stream = LoopBound(stream, on: stream.loop)
    }

    func next() async throws -> ByteSlice? {
        let bound = stream
        let read = bound.value.beginRead()
        return try await withTaskCancellationHandler {
            try await bound.value.nextPiece()
        } onCancel: {
            bound.loop.submit { bound.value.cancelRead(read) }
        }
    }
}
