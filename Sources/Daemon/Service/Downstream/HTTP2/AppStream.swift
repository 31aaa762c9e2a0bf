import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTP2
import NetproxyHTTPMessage
import NetproxyLiveObjects
import NetworkCore
import OriginTransport

/// One request of an app that speaks HTTP/2, and the way back to it.
///
/// Not `Sendable`: it never leaves its loop.
final class AppStream: TimerEntry, AppSide {
    let id: Int32
    let session: AppSession
    var request: CurrentRequest
    var listener: DownstreamConnection.Source { session.listener }
    let peer: SocketPeer
    /// Serves the exchange, and holds this stream: `finish()` ends both.
    var service: DownstreamConnection.Service?
    var interim: InterimWriter? { service?.interim }
    private var head: RequestHead?
    /// What was understood of a head that was refused.
    private let line: RequestHead?
    /// Whether the content may be a conversation, in which each side waits for the other.
    private let isConversation: Bool
    private var pieces: [ByteSlice] = []
    /// Whether all of the request is here.
    private(set) var isComplete = false
    private var fault: HTTP2Fault?
    /// Whether the app has ended the stream early, or the connection is gone.
    private(set) var isCut = false
    /// Whether both sides have ended it.
    private(set) var isClosed = false
    private var pace: BodyPace
    private var reader: CheckedContinuation<Void, Never>?
    /// Numbers the reads, so that a late cancellation does not end a later read.
    private var read = 0
    private var isReadCancelled = false
    /// Whether nothing more of the content is waited for: the connection ends in the middle of the
    /// exchange, or the exchange is over.
    private var isEnding = false
    private var writer: CheckedContinuation<Void, Never>?
    private var unsent = 0
    /// Whether some of it has been sent since the wait for that began.
    private var hasProgress = false
    /// Whether a source has been made of the content, which meets every fault of it.
    private var hasSource = false
    private var isOverdue = false
    private var response = ResponseProgress.none
    private var pending: PendingStreamResponse?
    private let life = LiveObject(AppStream.self)

    /// The part of the response that the session has.
    private enum ResponseProgress {
        case none, begun, ended
    }

    private var hasBegunResponse: Bool { response != .none }
    var loop: EventLoop { session.loop }

    /// A request whose head is here.
    init(_ id: Int32, on session: AppSession, _ head: RequestHead, ends: Bool) {
        self.id = id
        self.session = session
        self.head = head
        line = nil
        isConversation = RPCStatus.isCall(head.headers)
        isComplete = ends
        peer = session.peer
        pace = BodyPace(rate: session.bounds.bodyRate)
        request = CurrentRequest(number: Int(id))
        request.owesContinue = head.expectsContinue && !ends
        request.takesTrailers = true
        super.init()
    }

    /// A request that is refused.
    init(
        _ id: Int32,
        on session: AppSession,
        _ fault: HTTP2Fault,
        _ line: (method: HTTPMethod, path: String)?
    ) {
        self.id = id
        self.session = session
        self.fault = fault
        self.line = line.map { .refused($0.method, path: $0.path) }
        isConversation = false
        peer = session.peer
        pace = BodyPace(rate: nil)
        request = CurrentRequest(number: Int(id))
        request.takesTrailers = true
        super.init()
    }

    /// Why it is refused, where its head is.
    var refusal: NetworkError? { head == nil ? fault.map { NetworkError($0) } : nil }

    // MARK: - What the session reports

    func took(_ piece: ByteSlice) {
        pieces.append(piece)
        resumeReader()
    }

    func end() {
        isComplete = true
        resumeReader()
    }

    /// The content breaks the rules.
    ///
    /// - Returns: whether what reads the content tells the app.
    func fail(_ fault: HTTP2Fault) -> Bool {
        self.fault = fault
        resumeReader()
        return hasSource && !hasBegunResponse
    }

    func sent(_ count: Int) {
        unsent -= count
        hasProgress = true
        resumeWriter()
    }

    /// Takes the end of the stream, after which nothing comes or goes; early if the app has reset it, or if
    /// the response is not complete.
    func close(early: Bool) {
        let early = early || response != .ended
        isClosed = true
        isCut = isCut || early
        resumeReader()
        resumeWriter()
        guard early else { return }
        service?.task.cancel()
        service?.relay.abort()
    }

    /// Frees what belongs to the exchange, once its task has ended.
    ///
    /// Its content may be on its way to the upstream still. An upload takes what is here of a complete
    /// request, and nothing of any other.
    func finish() {
        service = nil
        head = nil
        pending = nil
        isEnding = true
        if !isComplete { pieces = [] }
        loop.remove(self)
        resumeReader()
        resumeWriter()
    }

    /// Ends it in the middle of what it does; an app whose response has not begun is told why.
    func cut() {
        service?.task.cancel()
        service?.relay.abort()
        isEnding = true
        resumeReader()
        if hasBegunResponse { resumeWriter() }
    }

    private func resumeReader() { reader.take()?.resume() }

    private func resumeWriter() { writer.take()?.resume() }

    override func fire() {
        isOverdue = true
        resumeReader()
        resumeWriter()
    }

    // MARK: - The request

    var localAddress: SocketAddress? { session.localAddress }
    var shutdown: DownstreamState.Shutdown { session.shutdown }
    var connection: DownstreamConnection? { nil }
    var version: HTTPVersion { .http2 }

    func takeHead() -> RequestHead { head.take() ?? unreadHead }

    var unreadHead: RequestHead { line ?? .refused(.get, path: "/") }

    var requestLine: RequestHead? { line }

    func requestBody(_ framing: BodyFraming) -> HTTPBody {
        if isComplete, let whole { return whole }
        switch framing {
        case .none, .untilClose, .length(0): return .empty
        case .length(let length): return .stream(source, length: length)
        case .chunked: return .stream(source, length: nil)
        }
    }

    private var source: AppStreamBody {
        hasSource = true
        return AppStreamBody(self)
    }

    /// The content, if all of it is here.
    private var whole: HTTPBody? {
        guard isComplete, fault == nil else { return nil }
        let count = pieces.reduce(0) { $0 + $1.count }
        guard count <= AppStream.gatheringLimit else { return nil }
        request.owesContinue = false
        guard count > 0 else { return .empty }
        defer { pieces = [] }
        request.bytesIn += count
        session.consumed(count, on: id)
        if pieces.count == 1, count > AppStream.copiedLength { return .bytes(pieces[0]) }
        var writer = SlabWriter(expecting: count)
        for piece in pieces { writer.append(piece.span) }
        return .bytes(writer.finish())
    }

    /// The longest content that is copied, so that it does not hold what came with it.
    private static let copiedLength = 1024

    func gather(_ body: HTTPBody) async throws(NetworkError) -> HTTPBody {
        guard !request.owesContinue, case .stream = body, !isConversation else {
            return body
        }
        let deadline = loop.deadline(after: AppStream.gatheringTime)
        while !isComplete, fault == nil, !isCut,
            pieces.reduce(0, { $0 + $1.count }) < AppStream.gatheringLimit
        {
            guard await waitToRead(until: deadline) else { break }
        }
        if let fault { throw NetworkError(fault) }
        return whole ?? body
    }

    private static let gatheringTime = Duration.milliseconds(100)
    private static let gatheringLimit = 64 * 1024

    /// Waits for something to take; returns `false` at the deadline.
    private func waitToRead(until deadline: UInt64) async -> Bool {
        isOverdue = false
        loop.schedule(self, at: deadline)
        defer { loop.suspend(self) }
        let count = pieces.count
        while pieces.count == count, !isComplete, fault == nil, !isCut, !isOverdue,
            !isReadCancelled,
            !isEnding
        {
            await withCheckedContinuation { reader = $0 }
        }
        return !isOverdue
    }

    /// The next piece of the request's content.
    func nextPiece() async throws -> ByteSlice? {
        if request.owesContinue {
            request.owesContinue = false
            try await writeInterim(100, [:])
        }
        while true {
            if !pieces.isEmpty {
                let piece = pieces.removeFirst()
                request.bytesIn += piece.count
                session.consumed(piece.count, on: id)
                return piece
            }
            if let fault { throw NetworkError(fault) }
            if isComplete { return nil }
            if Task.isCancelled || isReadCancelled || isEnding { throw CancellationError() }
            guard !isCut else { throw NetworkError.uploadCut }
            let started = loop.now
            let idle = loop.deadline(after: request.idleTimeout)
            let slowest =
                hasBegunResponse ? .max : pace.deadline(after: request.bytesIn, now: started)
            let isInTime = await waitToRead(until: min(idle, slowest))
            pace.waited(from: started, to: loop.now)
            guard !isInTime else { continue }
            throw loop.now < idle
                ? session.bounds.slowBody
                : NetworkError.timeout(.requestBody, after: request.idleSetting)
        }
    }

    /// Begins a read of the content; returns its number.
    func beginRead() -> Int {
        isReadCancelled = false
        read += 1
        return read
    }

    /// Ends one read of the content, but no later one.
    func cancelRead(_ number: Int) {
        guard number == read else { return }
        isReadCancelled = true
        resumeReader()
    }

    // MARK: - The response

    var isWritingInterim: Bool { false }
    /// The connection goes on whatever becomes of a stream.
    var persists: Bool { true }

    func interimWritten() async {}

    func writeInterim(_ status: HTTPStatus, _ headers: HTTPHeaders) async throws {
        guard !hasBegunResponse, !isClosed else { return }
        let output = loop.outputs.take()
        defer { loop.outputs.give(output) }
        HeadEncoder.encodeInformational(status: status, headers: headers, into: output)
        session.sendInterim(output, on: id)
    }

    func beginResponse(
        _ message: borrowing Response,
        to head: borrowing RequestHead,
        _ persistence: Persistence
    ) -> WrittenResponse {
        guard !isClosed, !isCut else {
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
        response = plan.source == nil ? .ended : .begun
        session.sendResponse(output, on: id, hasContent: plan.hasContent)
        if let content = plan.content { session.send(content, on: id, isLast: true) }
        guard let source = plan.source.take() else {
            endRequest()
            return WrittenResponse(.done, bytesOut: plan.content?.count ?? 0, isHeadOut: true)
        }
        pending = PendingStreamResponse(source: source, length: plan.length)
        return WrittenResponse(.body, isHeadOut: true)
    }

    func finishResponse() async -> WrittenResponse {
        guard let pending = pending.take() else { return WrittenResponse(.done, isHeadOut: true) }
        var written = WrittenResponse(.body, isHeadOut: true)
        do {
            var left = pending.length ?? .max
            while left > 0, let piece = try await pending.source.next() {
                left -= piece.count
                guard left >= 0, !isClosed, !isCut else {
                    throw left < 0 ? BodyWriter.LengthMismatch() : NetworkError.clientGone
                }
                unsent = piece.count
                // Of content whose length is known, the last piece is: only trailers may come after it.
                if left == 0, try await pending.source.next() != nil {
                    throw BodyWriter.LengthMismatch()
                }
                let isLast = left == 0 && pending.source.trailers() == nil
                if isLast { response = .ended }
                session.send(piece, on: id, isLast: isLast)
                try await contentSent()
                written.bytesOut += piece.count
            }
            guard pending.length == nil || left == 0 else { throw BodyWriter.LengthMismatch() }
            let trailers = pending.source.trailers()
            response = .ended
            session.end(on: id, trailers: trailers)
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

    /// Waits until the app has had room for the content.
    private func contentSent() async throws(NetworkError) {
        defer { loop.suspend(self) }
        isOverdue = false
        while unsent > 0, !isClosed, !isCut, !isOverdue, shutdown != .cut {
            hasProgress = false
            loop.schedule(self, at: loop.deadline(after: request.idleTimeout))
            await withCheckedContinuation { writer = $0 }
            if hasProgress { isOverdue = false }
        }
        if unsent == 0 { return }
        if isOverdue { throw NetworkError.timeout(.delivery, after: request.idleSetting) }
        throw .clientGone
    }

    /// After a complete response the rest of the request is not wanted (RFC 9113 §8.1).
    private func endRequest() {
        if !isComplete { session.stopReceiving(on: id) }
    }

    func closeAfterLingering() async {}

    func reset() {
        session.reset(id, hasBegunResponse ? .internalError : .cancel)
    }
}

/// A response whose content comes piece by piece.
struct PendingStreamResponse {
    let source: any BodySource
    /// How long it is, where the head says so.
    let length: Int?
}

/// What a response is in HTTP/2: the same as in HTTP/1, without its connection.
struct StreamResponse: ~Copyable {
    private(set) var content: ByteSlice?
    var source: (any BodySource)?
    private var framing: BodyFraming
    private var announced: Int?
    /// Whether anything follows the head.
    var hasContent: Bool { content != nil || source != nil }
    /// How long the content is, where that is known.
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

/// The content of an app's request, read as the upstream takes it.
final class AppStreamBody: BodySource {
    private let stream: LoopBound<AppStream>

    init(_ stream: AppStream) {
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

extension NetworkError {
    /// A request that HTTP/2 does not allow, with the status that says so.
    init(_ fault: HTTP2Fault) {
        self.init(
            .httpRequestError,
            side: .downstream,
            detail: "\(fault.reason)",
            status: fault.status
        )
    }
}
