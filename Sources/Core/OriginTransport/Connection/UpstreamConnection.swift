import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyLiveObjects
import NetworkCore

/// One connection to an origin, and the exchange on it.
///
/// Not `Sendable`: it never leaves its loop. Any doubt about framing closes it.
final class UpstreamConnection: TimerEntry {
    /// Whether an exchange uses the connection.
    private enum Use {
        case inUse
        case idle
        /// The connection is unused until it is clear that the origin sends no bytes after its response.
        case watched
    }

    // The properties that every exchange uses come first, so that they share few cache lines.
    let socket: StreamSocket
    let loop: EventLoop
    let peer: UpstreamPeer
    /// The owner, retained until the connection closes, since a body may outlive all other users of the pool.
    let owner: any UpstreamConnectionOwner
    let buffer = ReadBuffer()
    /// The number of the current exchange, by which a body detects that its exchange is over.
    private(set) var exchange = 0
    /// Whether a head of the response has arrived, final or interim.
    var hasAnswered = false
    /// Whether the origin has given no sign of life during this exchange.
    var isUnconfirmed = false
    private var use = Use.inUse
    /// Whether an exchange uses the connection.
    var isInUse: Bool { use == .inUse }
    /// The sender of the current request.
    var sender: ObjectIdentifier?
    /// The next idle connection in the stack, used before this one.
    var below: UpstreamConnection?
    var mayReuse = true
    /// The streamed content, while it may still be sent.
    var upload: Upload?
    let address: String
    var reader = ResponseReader(limits: .responses)
    /// The head of the response, until the response is created from it.
    var head: ResponseHead?
    /// The rest of the response's content; `nil` between exchanges.
    var body: BodyReader?
    /// The deadline of the content on the loop's clock, and the setting behind it.
    private(set) var bodyLimit = UInt64.max
    private(set) var bodySetting: TimeSetting?
    /// Whether the content may still be read.
    var isInTime: Bool { bodyLimit == .max || loop.now < bodyLimit }
    /// The longest idle time, shortened if the origin announces less.
    private(set) var keepAlive: Duration
    /// The generation of the `NameWatch` that last confirmed the address.
    var nameGeneration = 0
    /// The time at which a part of the response was last waited for and read.
    var lastReceived: UInt64 = 0
    /// Whether the connection counts against the share of uploads.
    var holdsUploadShare = false
    private let life = LiveObject(UpstreamConnection.self)
    /// The longest content that is copied from the buffer, in bytes.
    private static let copiedLength = 1024

    init(_ socket: StreamSocket, to peer: UpstreamPeer, of owner: any UpstreamConnectionOwner) {
        self.socket = socket
        self.peer = peer
        self.owner = owner
        loop = socket.loop
        keepAlive = peer.options.keepAlive
        address = socket.peer.description
        super.init()
        socket.onPeerClosed = { [unowned self] in
            if use != .inUse { close() }
        }
    }

    // MARK: - In the pool

    /// Whether the last exchange left the connection clean.
    func canIdle() -> Bool {
        guard mayReuse, buffer.isEmpty, upload?.isComplete ?? true, !socket.isClosed,
            !socket.hasPosted
        else { return false }
        socket.probe()
        return socket.isQuiet
    }

    func enterIdle() {
        socket.stopWatchingPeer()
        stayUnused(.idle, until: loop.deadline(after: keepAlive))
    }

    private func stayUnused(_ use: Use, until deadline: UInt64) {
        self.use = use
        buffer.release(to: loop.slabs)
        loop.schedule(self, at: deadline)
    }

    /// Whether the connection is as quiet as when it became idle.
    func resumeFromIdle() -> Bool {
        use = .inUse
        loop.suspend(self)
        if !socket.isQuiet { socket.probe() }
        return socket.isQuiet
    }

    /// Leaves the connection unused for some time before it may become idle.
    func enterWatch(until deadline: UInt64) {
        stayUnused(.watched, until: deadline)
    }

    /// Called when the connection has been idle for too long, or watched for long enough.
    override func fire() {
        switch use {
        case .inUse: break
        case .idle: close()
        case .watched:
            use = .inUse
            owner.release(self)
        }
    }

    /// Closes the connection in any state.
    func close() {
        guard !socket.isClosed else { return }
        use = .inUse
        loop.remove(self)
        upload?.cancel()
        // Posted bytes are no longer needed.
        socket.dropPosted()
        socket.close()
        buffer.consume(buffer.count)
        buffer.release(to: loop.slabs)
        owner.closed(self)
    }

    // MARK: - One exchange

    /// Sends the request and returns when the head of the final response has arrived.
    /// - Parameters:
    ///   - request: the request.
    ///   - context: receives the facts of the attempt.
    ///   - limit: the deadline of the response, on the loop's clock.
    /// - Returns: the response, whose body may still be arriving.
    /// - Throws: `http_response_timeout` after the limit, otherwise the error of the attempt.
    func send(
        _ request: consuming Request,
        context: inout RequestContext,
        until limit: UInt64 = .max
    ) async throws -> Response {
        guard !Task.isCancelled else {
            // The caller has canceled, so do not send the request.
            owner.release(self)
            throw fault(.aborted, in: .connecting)
        }
        exchange += 1
        hasAnswered = false
        isUnconfirmed = exchange > 1
        let started = loop.now
        do {
            guard limit > started else {
                throw NetworkError.overdueUnsent(after: context.deadlineSetting)
            }
            bodyLimit = peer.service == .connections ? limit : .max
            if bodyLimit != .max { bodySetting = context.deadlineSetting }
            if request.body.isStream {
                return try await sendStream(
                    of: consume request,
                    context: &context,
                    until: limit
                )
            }
            let question = AwaitedResponse(to: request)
            if let rest = try start(consume request) { try await send(rest, until: limit) }
            try await readHead(
                answering: question,
                context: &context,
                until: min(loop.deadline(after: peer.options.responseTimeout), limit),
                during: nil
            )
            context.timings.firstByte = Duration(elapsed: loop.now - started)
            return try response()
        } catch {
            distrustIfSilent(since: started)
            close()
            throw limit <= loop.now
                ? NetworkError.overdue(error, after: context.deadlineSetting) : error
        }
    }

    /// Distrusts the other connections to the address if this one was given up without a byte after a silence.
    ///
    /// The kernel of a stuck load balancer or a stopped process still acknowledges bytes on all of them.
    private func distrustIfSilent(since started: UInt64) {
        guard exchange > 1, !hasAnswered, buffer.isEmpty, !socket.isClosed,
            loop.now &- started >= ConnectionTest.shortestSilence
        else { return }
        owner.distrust(address)
    }

    /// Creates the response from the received head.
    @inline(never)
    func response() throws -> Response {
        var taken: ResponseHead?
        swap(&taken, &self.head)
        guard var head = consume taken else { throw fault(.aborted, in: .awaitingHead) }
        if !head.keepAlive { mayReuse = false }
        if head.headers.contains(KnownField.keepAlive) {
            keepAlive = KeepAliveHint.limit(peer.options.keepAlive, by: head.headers)
            if keepAlive <= .zero { mayReuse = false }
        }
        // Move the headers rather than copy them, since they are edited in place.
        var headers = HTTPHeaders()
        swap(&headers, &head.headers)
        // RFC 9110 §15.5.22: a 426 names the required protocols.
        let keepsUpgrade = head.status == 101 || head.status == 426
        let upgrade = keepsUpgrade ? headers.values(of: .upgrade).joined(separator: ", ") : ""
        let content = ResponseContent(head, headers, buffered: buffer.count)
        _ = HopByHop(removingFrom: &headers)
        if !upgrade.isEmpty { headers.append(.upgrade, validated: upgrade) }
        if head.status == 101 {
            return Response(status: 101, headers: headers, body: .tunnel(tunnel()))
        }
        return Response(
            status: head.status,
            headers: headers,
            body: makeBody(content, head.framing),
            announcedLength: head.announcedLength
        )
    }

    /// Creates the body of a response, and ends the exchange if the whole body has arrived.
    @inline(__always)
    private func makeBody(_ content: ResponseContent, _ framing: BodyFraming) -> HTTPBody {
        switch content {
        case .none:
            owner.release(self)
            return .empty
        case .doubtful:
            owner.releaseAfterSilence(self)
            return .empty
        case .buffered(let length):
            // Copy short content, so that the connection keeps its slab and the caller keeps only the
            // content.
            let isShort = length <= UpstreamConnection.copiedLength
            let bytes = isShort ? buffer.copy(length) : buffer.take(length)
            owner.release(self)
            return .bytes(bytes)
        case .streamed(let length):
            body = BodyReader(framing, limits: .responses)
            return .stream(source, length: length)
        case .untilClose:
            mayReuse = false
            body = BodyReader(framing, limits: .responses)
            return .stream(source, length: nil)
        }
    }

    /// Hands the connection to a tunnel; it keeps its slot in the pool until it closes.
    private func tunnel() -> SocketStream {
        mayReuse = false
        socket.watchPeer(.delivery)
        let early = buffer.moved()
        return SocketStream(
            socket,
            buffer: early,
            side: .upstream,
            idleTimeout: peer.options.idleTimeout,
            onClose: { [self] in close() }
        )
    }

    private var source: UpstreamBody {
        UpstreamBody(LoopBound(self, on: loop), exchange: exchange)
    }

    /// Ends a complete exchange.
    func finish() {
        body = nil
        if upload?.isComplete == true { upload = nil }
        owner.release(self)
    }

    /// Closes the connection because the reader of the body does not want the rest.
    func cancelBody(of exchange: Int) {
        guard exchange == self.exchange, body != nil else { return }
        body = nil
        close()
    }

    /// Translates an I/O error of this exchange.
    func fault(_ error: IOError, in phase: TimeoutPhase) -> NetworkError {
        let isUntouched =
            phase == .sending || phase == .awaitingHead && !hasAnswered && buffer.isEmpty
        let mayBeStale = exchange > 1 && isUntouched
        var error = error
        if error == .timedOut, mayBeStale, socket.isPeerSilent {
            // The limit was shorter than TCP's own, but the connection is dead.
            error = .unresponsive("nothing was acknowledged")
        }
        if case .unresponsive = error { owner.distrust(address) }
        return peer.error(error, in: phase, mayBeStale: mayBeStale)
    }
}
