import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTP2
import NetproxyHTTPMessage
import NetproxyLiveObjects
import NetworkCore

/// One exchange on an HTTP/2 connection: the received parts of the response, and the upload.
///
/// Not `Sendable`: it never leaves its loop.
final class HTTP2Exchange: Abortable {
    let connection: HTTP2Connection
    let stream: ExchangeStream
    var id: Int32 { stream.id }
    /// The heads that were not taken, the final one last; usually a single one.
    private var head: ResponseHead?
    private var moreHeads: [ResponseHead] = []
    private(set) var trailers: HTTPHeaders?
    /// Whether a head has arrived, final or interim.
    private(set) var hasHead = false
    var upload: Upload?
    /// The deadline of the content on the loop's clock, and its setting.
    var bodyLimit = UInt64.max
    var bodySetting: TimeSetting?
    /// The time at which the request was sent, on the loop's clock.
    let started: UInt64
    /// Whether the request was sent before the origin's SETTINGS were acknowledged.
    let isEarly: Bool
    /// The reason for netproxy to end the response.
    var cancellation: NetworkError?
    private let life = LiveObject(HTTP2Exchange.self)

    var loop: EventLoop { connection.loop }
    /// Whether the whole response has arrived.
    var isComplete: Bool { stream.state.isComplete }

    init(_ id: Int32, on connection: HTTP2Connection) {
        self.connection = connection
        stream = ExchangeStream(id, over: connection.wire)
        started = connection.loop.now
        isEarly = connection.admission.isAwaitingSettings
    }

    // MARK: - Events of the connection

    func took(_ head: ResponseHead, ends: Bool) {
        hasHead = true
        if self.head == nil { self.head = head } else { moreHeads.append(head) }
        guard head.status.kind != .informational else { return stream.endWait(.news) }
        stream.receiveHead(head.framing)
        if ends { stream.receiveEnd() }
    }

    func end(_ trailers: HTTPHeaders?) {
        self.trailers = trailers
        stream.receiveEnd()
    }

    /// Handles a broken response, whose stream the session has reset.
    func fail(_ fault: HTTP2Fault) {
        stream.refuse(fault)
        _ = stream.reset(.protocolError)
    }

    // MARK: - Waiting

    func abort() {
        stream.stopReceiving(.cancel)
        stream.stopWriting()
    }

    private var isAborted: Bool {
        if case .unwanted = stream.state.incoming { true } else { false }
    }

    /// Whether the response has something to take, or receives nothing more.
    private var isReady: Bool {
        head != nil || stream.unread > 0 || !stream.state.isReceiving
    }

    /// Returns when more of the response has arrived.
    ///
    /// - Throws: `.timedOut`, `.aborted`.
    func wait(until deadline: UInt64) async throws(IOError) {
        guard !isReady else {
            if isAborted { throw .aborted }
            return
        }
        if connection.peer.service == .connections, let relay = AbortRelay.current?.relay,
            relay.loop === loop
        {
            let relay = relay.value
            if relay.isFree {
                try relay.hold(sharing: self)
                defer { relay.releaseShared() }
                return try await waitForNews(until: deadline)
            }
        }
        let bound = LoopBound(self, on: loop)
        let fault = await withTaskCancellationHandler {
            await IOError.thrown { () async throws(IOError) in
                try await waitForNews(until: deadline)
            }
        } onCancel: {
            bound.loop.submit { bound.value.abort() }
        }
        if let fault { throw fault }
    }

    private func waitForNews(until deadline: UInt64) async throws(IOError) {
        let end = await stream.wait(until: deadline)
        if isAborted { throw .aborted }
        if end == .deadline, !isReady { throw .timedOut }
    }

    // MARK: - Taking

    func takeHead() -> ResponseHead? {
        defer { head = moreHeads.isEmpty ? nil : moreHeads.removeFirst() }
        return head
    }

    /// Takes the next piece of content.
    func takePiece() -> ByteSlice? { head == nil ? stream.take() : nil }

    /// Returns all of the content as one piece, if it has arrived and is short.
    func takeWhole() -> ByteSlice? {
        guard isComplete, trailers == nil, stream.unread <= Slab.standardCapacity else {
            return nil
        }
        return stream.takeAll()
    }

    /// Takes the trailers of a response without content, if they contain the status of a call.
    func takeLoneTrailers() -> HTTPHeaders? {
        guard isComplete, stream.unread == 0, let trailers, trailers.contains(RPCStatus.field)
        else { return nil }
        self.trailers = nil
        return trailers
    }
}

/// The streamed content of a request.
extension HTTP2Exchange: UploadSink {
    func write(_ piece: ByteSlice?) throws -> Bool {
        guard stream.state.isSending else { throw IOError.closedByPeer }
        guard let piece else {
            try connection.endContent(on: self)
            return true
        }
        try connection.send(piece, on: self)
        return stream.unsent == 0
    }

    func finishWriting() async throws(IOError) {
        switch await stream.waitForRoom(idle: connection.peer.options.idleTimeout) {
        case nil: return
        case .deadline: throw .timedOut
        case .canceled: throw .aborted
        case .news, .over: throw stream.state.isSending ? .aborted : .closedByPeer
        }
    }

    func cancelWrite() { stream.cancelWrite() }
}
