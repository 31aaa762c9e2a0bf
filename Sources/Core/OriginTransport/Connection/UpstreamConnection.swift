import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyLiveObjects
import NetworkCore

/// One connection to an origin, and the one exchange on it.
///
/// Not `Sendable`: it never leaves its loop. Any doubt about framing closes it.
final class UpstreamConnection: TimerEntry {
    /// Whether an exchange uses it.
    private enum Rest {
        case inUse
        case idle
        /// Unused until it is clear that the origin sends nothing after its response.
        case watched
    }

    // What every exchange looks at stands first, in few cache lines.
    let socket: StreamSocket
    let loop: EventLoop
    let peer: UpstreamPeer
    /// Held until the connection closes: a body may outlive all other users of the pool.
    let owner: any UpstreamConnectionOwner
    let buffer = ReadBuffer()
    /// The number of the current exchange, by which a body knows whether it is still its own.
    private(set) var exchange = 0
    /// Whether a head of its response has arrived, final or interim.
    var hasAnswered = false
    /// Whether the origin has not yet shown, in this exchange, that it is still there.
    var isUnconfirmed = false
    private var rest = Rest.inUse
    /// Among idle connections, the one that was used before it.
    var below: UpstreamConnection?
    var mayReuse = true
    /// The last streamed content, for as long as it may be on its way.
    var upload: Upload?
    let address: String
    var reader = ResponseReader(limits: .responses)
    /// The head of the answer, from when it is here until the answer is made of it.
    var head: ResponseHead?
    /// The rest of the response's content; nil between exchanges.
    var body: BodyReader?
    /// When the content must be complete, on the loop's clock, and what set that.
    private(set) var bodyLimit = UInt64.max
    private(set) var bodySetting: TimeSetting?
    /// How long it is kept without use: less where the origin says so.
    private(set) var keepAlive: Duration
    /// For which answer of the name servers its address was compared with theirs.
    var nameGeneration = 0
    /// Whether it counts among those that wait for an app's content.
    var holdsUploadShare = false
    private let life = LiveObject(UpstreamConnection.self)
    /// The longest content that is copied out of the buffer, in bytes.
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
            if rest != .inUse { close() }
        }
    }

    // MARK: - In the pool

    /// Whether the last exchange left nothing behind.
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

    private func stayUnused(_ rest: Rest, until deadline: UInt64) {
        self.rest = rest
        buffer.release(to: loop.slabs)
        loop.schedule(self, at: deadline)
    }

    /// Whether it is as quiet as when it became idle.
    func resumeFromIdle() -> Bool {
        rest = .inUse
        loop.suspend(self)
        if !socket.isQuiet { socket.probe() }
        return socket.isQuiet
    }

    /// Stays unused for a while before it may become idle.
    func enterWatch(until deadline: UInt64) {
        stayUnused(.watched, until: deadline)
    }

    /// Idle for too long, or watched for long enough.
    override func fire() {
        switch rest {
        case .inUse: break
        case .idle: close()
        case .watched:
            rest = .inUse
            owner.release(self)
        }
    }

    /// Closes it, whatever it was doing.
    func close() {
        guard !socket.isClosed else { return }
        rest = .inUse
        loop.remove(self)
        upload?.cancel()
        // Posted bytes are no longer wanted.
        socket.dropPosted()
        socket.close()
        buffer.consume(buffer.count)
        buffer.release(to: loop.slabs)
        owner.closed(self)
    }

    // MARK: - One exchange

    /// Sends the request and returns when the head of the final response is there.
    ///
    /// - Parameters:
    ///   - request: what is sent.
    ///   - context: gets what is learnt.
    ///   - limit: when the response must be here, on the loop's clock.
    /// - Returns: the response, whose body may still be arriving.
    /// - Throws: `http_response_timeout` past the limit, else what the fault is.
    func send(
        _ request: consuming Request,
        context: inout RequestContext,
        until limit: UInt64 = .max
    ) async throws -> Response {
        guard !Task.isCancelled else {
            // The caller is gone: better not to send the request.
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
            let question = AwaitedAnswer(to: request)
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
            close()
            throw limit <= loop.now
                ? NetworkError.overdue(error, after: context.deadlineSetting) : error
        }
    }

    /// Makes the response of the head that is here.
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
        // Moved, not copied: it is edited in place.
        var headers = HTTPHeaders()
        swap(&headers, &head.headers)
        let upgrade = head.status == 101 ? headers[.upgrade] : nil
        let isDoubtful =
            head.framing == .none
            && ((head.announcedLength ?? 0) > 0 || headers.contains(KnownField.transferEncoding))
        _ = HopByHop(removingFrom: &headers)
        if let upgrade {
            headers.append(.upgrade, validated: upgrade)
            return Response(status: 101, headers: headers, body: .tunnel(tunnel()))
        }
        let content: HTTPBody
        switch head.framing {
        case .none where isDoubtful:
            // HEAD or 304: a confused origin sends the content all the same, and soon.
            content = .empty
            owner.releaseAfterSilence(self)
        case .none, .length(0):
            content = .empty
            owner.release(self)
        case .length(let length) where length <= buffer.count:
            // Copied where that is cheap: the connection keeps its slab, and the caller keeps
            // only the content.
            content = .bytes(
                length <= UpstreamConnection.copiedLength
                    ? buffer.copy(length) : buffer.take(length)
            )
            owner.release(self)
        case .length(let length):
            body = BodyReader(head.framing, limits: .responses)
            content = .stream(source, length: length)
        case .chunked, .untilClose:
            if head.framing == .untilClose { mayReuse = false }
            body = BodyReader(head.framing, limits: .responses)
            content = .stream(source, length: nil)
        }
        return Response(
            status: head.status,
            headers: headers,
            body: content,
            announcedLength: head.announcedLength
        )
    }

    /// Leaves HTTP: the connection is the tunnel's, and keeps its place in the pool until it closes.
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

    /// The exchange is complete.
    func finish() {
        body = nil
        if upload?.isComplete == true { upload = nil }
        owner.release(self)
    }

    /// The reader of the body does not want the rest.
    func cancelBody(of exchange: Int) {
        guard exchange == self.exchange, body != nil else { return }
        body = nil
        close()
    }

    /// What went wrong in this exchange.
    func fault(_ error: IOError, in phase: TimeoutPhase) -> NetworkError {
        let isUntouched =
            phase == .sending || phase == .awaitingHead && !hasAnswered && buffer.isEmpty
        let mayBeStale = exchange > 1 && isUntouched
        var error = error
        if error == .timedOut, mayBeStale, socket.isPeerSilent {
            // The limit was shorter than TCP's patience: it is the connection all the same.
            error = .unresponsive("nothing was acknowledged")
        }
        if case .unresponsive = error { owner.distrust(address) }
        return peer.error(error, in: phase, mayBeStale: mayBeStale)
    }
}
