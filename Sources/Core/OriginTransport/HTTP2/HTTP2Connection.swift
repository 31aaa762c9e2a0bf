import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTP2
import NetproxyHTTPMessage
import NetproxyLiveObjects
import NetworkCore

/// One HTTP/2 connection to an origin, and the exchanges on it.
///
/// Not `Sendable`: it never leaves its loop.
final class HTTP2Connection: TimerEntry {
    let loop: EventLoop
    let peer: UpstreamPeer
    /// The owner, retained until the connection closes, since a body may outlive all other users of the pool.
    let owner: any HTTP2ConnectionOwner
    let address: String
    /// The address of the peer.
    var remote: SocketAddress { wire.socket.peer }
    let wire: HTTP2Wire
    var session: HTTP2Session { wire.session }
    var exchanges = StreamTable<HTTP2Exchange>()
    let unread = UnreadContent()
    var admission = StreamAdmission()
    /// The total number of exchanges.
    var served = 0
    /// Whether the connection accepts no more exchanges.
    var isLeaving = false
    var test: ConnectionTest
    /// The timers for SETTINGS and for the result of a test.
    private var settingsTimer: ActionTimer?
    private var testTimer: ActionTimer?
    /// The reason for the end of the connection, which the first write can already set.
    var end: HTTP2WireEnd?
    private let life = LiveObject(HTTP2Connection.self)

    init(_ socket: StreamSocket, to peer: UpstreamPeer, of owner: any HTTP2ConnectionOwner) {
        self.peer = peer
        self.owner = owner
        loop = socket.loop
        address = socket.peer.description
        var limits = HTTP2Limits()
        limits.messages = .responses
        let session = HTTP2Session(.client, limits: limits)
        test = ConnectionTest(interval: peer.options.pingInterval)
        wire = HTTP2Wire(socket, session, read: ReadBuffer())
        wire.writeIdle = peer.options.idleTimeout
        super.init()
        wire.user = self
        socket.watchPeer(.delivery)
        wire.start()
        // The connection may have ended already, and nothing would remove the timer.
        if end == nil, admission.isAwaitingSettings { limitWaitForSettings() }
    }

    /// The number of current exchanges.
    var count: Int { exchanges.count }
    /// The number of further exchanges that the connection admits.
    var room: Int { admission.count - exchanges.count }
    /// Whether the connection accepts another exchange now.
    var hasRoom: Bool {
        !isLeaving && !wire.isClosed && room > 0 && !test.isRunning
            && !session.isFull
    }

    /// Admits more exchanges after a second even if the origin has sent no SETTINGS.
    private func limitWaitForSettings() {
        let timer = ActionTimer { [weak self] in
            guard let self else { return }
            settingsTimer = nil
            if admission.isAwaitingSettings { settled() }
        }
        settingsTimer = timer
        loop.schedule(timer, at: loop.deadline(after: .seconds(1)))
    }

    /// Admits as many exchanges as the SETTINGS permit.
    func settled() {
        if let timer = settingsTimer.take() { loop.remove(timer) }
        admission.settle(session.admittedStreams)
        owner.settled(self)
    }

    /// Handles the end of the connection if it arrived after the last exchange.
    func settle() {
        if exchanges.isEmpty { wire.takeArrived() }
    }

    // MARK: - One exchange

    /// Sends the request, and returns when the final head of the response has arrived.
    ///
    /// - Throws: `HTTP2Refusal` if the origin has not processed the request, otherwise the error.
    func send(
        _ request: consuming Request,
        context: inout RequestContext,
        until limit: UInt64
    ) async throws -> Response {
        guard !Task.isCancelled else { throw peer.error(.aborted, in: .connecting) }
        let started = loop.now
        guard limit > started else {
            throw NetworkError.overdueUnsent(after: context.deadlineSetting)
        }
        served += 1
        context.isConnectionReused = served > 1
        context.upstreamAddress = address
        context.version = .http2
        let method = request.method
        let isExpecting = request.headers.contains(HTTPFieldName.expect) && request.body.isStream
        var source: (any BodySource)?
        if case .stream(let stream, _) = request.body { source = stream }
        let exchange = try begin(consume request)
        if peer.service == .connections, limit != .max {
            (exchange.bodyLimit, exchange.bodySetting) = (limit, context.deadlineSetting)
        }
        if let source {
            let upload = Upload(source, to: exchange, peer, isExpecting: isExpecting)
            exchange.upload = upload
            upload.start()
        }
        do {
            let head = try await head(of: exchange, &context, until: limit)
            context.timings.firstByte = Duration(elapsed: loop.now - started)
            return try await response(head, to: method, of: exchange)
        } catch {
            let fault = exchange.upload?.fault
            if let upload = exchange.upload {
                exchange.upload = nil
                await upload.end()
            }
            abandon(exchange, .cancel)
            if let fault { throw fault }
            throw limit <= loop.now
                ? NetworkError.overdue(error, after: context.deadlineSetting) : error
        }
    }

    /// Sends the head, and the content if it is in memory.
    private func begin(_ request: consuming Request) throws -> HTTP2Exchange {
        if let end { throw HTTP2Refusal.unsent(unsent(because: end)) }
        let framing: BodyFraming
        var content: ByteSlice?
        switch request.body {
        case .empty, .tunnel: framing = .none
        case .bytes(let bytes):
            framing = .length(bytes.count)
            if bytes.count > 0 { content = bytes }
        case .stream(_, let length): framing = length.map { .length($0) } ?? .chunked
        }
        let isStream = request.body.isStream
        let output = loop.outputs.take()
        defer { loop.outputs.give(output) }
        peer.encodeHead(of: request, framing, into: output)
        let stream = session.sendRequest(
            output,
            method: request.method,
            scheme: peer.origin.scheme == .https ? "https" : "http",
            hasContent: content != nil || isStream
        )
        guard let stream else {
            leave()
            throw HTTP2Refusal.unsent(refusal("takes no more requests on this connection"))
        }
        if let content {
            session.send(content, on: stream)
            session.end(stream)
        }
        let exchange = HTTP2Exchange(stream, on: self)
        if isStream, case .length(let length) = framing {
            _ = exchange.stream.state.sendHead(length: length)
        } else {
            _ = exchange.stream.state.sendHead()
        }
        if !isStream { _ = exchange.stream.state.sendEnd() }
        exchanges[stream] = exchange
        if exchanges.count == 1 { watch() }
        wire.flushSoon()
        return exchange
    }

    private func head(
        of exchange: HTTP2Exchange,
        _ context: inout RequestContext,
        until limit: UInt64
    ) async throws -> ResponseHead {
        var interim = InterimResponses(from: peer)
        // Interim responses do not extend the limit.
        let deadline = min(loop.deadline(after: peer.options.responseTimeout), limit)
        while true {
            while let head = exchange.takeHead() {
                guard head.status.kind == .informational else {
                    // Do not deliver a response that is already known to be broken.
                    if let error = error(of: exchange, .awaitingHead) { throw error }
                    context.upstreamStatus = head.status
                    return head
                }
                try await interim.pass(head, exchange.upload, &context)
            }
            if let error = error(of: exchange, .awaitingHead) { throw error }
            try await waitForHead(exchange, within: deadline, until: limit)
        }
    }

    /// Waits for a head until the deadline; with an upload, the deadline starts when the upload ends.
    private func waitForHead(
        _ exchange: HTTP2Exchange,
        within fixed: UInt64,
        until limit: UInt64
    ) async throws {
        let isStep = exchange.upload?.isRunning ?? false
        let deadline =
            isStep
            ? min(loop.deadline(after: .seconds(1)), limit)
            : exchange.upload?.answerDeadline(
                min(loop.deadline(after: peer.options.responseTimeout), limit)
            ) ?? fixed
        do throws(IOError) {
            try await exchange.wait(until: deadline)
        } catch {
            if error == .timedOut, isStep, loop.now < limit {
                // An origin that never responds to the expectation gets the body after a second.
                exchange.upload?.proceed()
                return
            }
            throw peer.error(error, in: .awaitingHead)
        }
        if !exchange.stream.state.isBroken, let fault = exchange.upload?.fault { throw fault }
    }

    private func response(
        _ taken: ResponseHead,
        to method: HTTPMethod,
        of exchange: HTTP2Exchange
    ) async throws -> Response {
        var head = taken
        var headers = HTTPHeaders()
        swap(&headers, &head.headers)
        _ = HopByHop(removingFrom: &headers)
        // A call that failed before its first message: gRPC sends one head with the trailers (Trailers-Only).
        if let trailers = exchange.takeLoneTrailers() { headers.append(trailers) }
        if let upload = exchange.upload, upload.isHeld || head.status.kind != .successful {
            await upload.end()
        }
        let content: HTTPBody
        if let whole = exchange.takeWhole() {
            content = whole.isEmpty ? .empty : .bytes(whole)
            if let upload = exchange.upload {
                // A complete response ends the exchange, even if part of the request has not been sent.
                exchange.upload = nil
                await upload.end()
            }
            finish(exchange)
        } else {
            exchange.upload?.isAnswered = true
            let length: Int? = if case .length(let count) = head.framing { count } else { nil }
            content = .stream(HTTP2Body(exchange), length: length)
        }
        return Response(
            status: head.status,
            headers: headers,
            body: content,
            announcedLength: head.announcedLength
        )
    }

    // MARK: - The end of an exchange

    /// Ends an exchange whose response was delivered; the rest of the request is not wanted (RFC 9113 §8.1).
    func finish(_ exchange: HTTP2Exchange) {
        if let upload = exchange.upload, !upload.isRunning { exchange.upload = nil }
        guard exchange.upload == nil else {
            exchange.upload?.onEnd = { [weak self, weak exchange] in
                guard let self, let exchange else { return }
                exchange.upload = nil
                abandon(exchange, .cancel)
            }
            return
        }
        remove(exchange, .cancel)
    }

    /// Abandons an exchange and its upload, which refers to the exchange.
    func abandon(_ exchange: HTTP2Exchange, _ code: HTTP2Code) {
        exchange.upload.take()?.cancel()
        let isWaiting = exchange.stream.state.isReceiving && exchange.stream.unread == 0
        exchange.stream.drop()
        remove(exchange, code)
        if isWaiting, code != .noError { doubt(since: max(wire.lastRead, exchange.started)) }
    }

    /// Forgets an exchange, and resets its stream unless both sides have ended it.
    private func remove(_ exchange: HTTP2Exchange, _ code: HTTP2Code) {
        exchange.stream.releaseAll()
        unread.closed[exchange.id] = nil
        guard exchanges[exchange.id] === exchange else { return }
        if case .reset(let code) = exchange.stream.reset(code) {
            session.reset(exchange.id, code)
            wire.flushSoon()
        }
        forget(exchange.id)
    }

    func forget(_ stream: Int32) {
        guard let exchange = exchanges.take(stream) else { return }
        exchange.stream.removeTimers()
        if exchange.isComplete { admission.completed() }
        if exchange.stream.unread > 0 { unread.closed[stream] = exchange }
        guard !wire.isClosed else { return }
        if exchanges.isEmpty {
            if isLeaving { return close() }
            loop.schedule(self, at: loop.deadline(after: peer.options.keepAlive))
        }
        owner.exchangeEnded(on: self)
    }

    // MARK: - The connection

    /// Accepts no more exchanges, and closes after the current ones.
    func leave() {
        guard !isLeaving else { return }
        isLeaving = true
        owner.leaves(self)
        if exchanges.isEmpty { close() }
    }

    func close() {
        removeTimers()
        wire.close()
    }

    /// Schedules the first test of a silent origin.
    private func watch() {
        loop.schedule(self, at: loop.deadline(after: peer.options.pingInterval))
    }

    /// Closes a connection that is idle for too long; tests a connection that is silent for too long.
    override func fire() {
        guard !exchanges.isEmpty else { return leave() }
        let silent = loop.now &- wire.lastRead
        let interval = peer.options.pingInterval.nanoseconds
        if silent >= interval { perform(test.begin(at: loop.now)) }
        guard !wire.isClosed else { return }
        let last = silent < interval ? wire.lastRead : loop.now
        loop.schedule(self, at: last &+ interval)
    }

    /// Tests the connection after an exchange was given up in a silence.
    private func doubt(since start: UInt64) {
        guard !wire.isClosed, !isLeaving else { return }
        perform(test.begin(afterSilenceSince: start, at: loop.now))
    }

    private func perform(_ action: ConnectionTest.Action) {
        switch action {
        case .none: return
        case .leave: return leave()
        case .ping: session.ping()
        }
        wire.flushSoon()
        let timer = ActionTimer { [weak self] in
            guard let self, test.isRunning else { return }
            wire.end(.fault(.unresponsive("no answer to a PING")))
        }
        if let earlier = testTimer { loop.remove(earlier) }
        testTimer = timer
        loop.schedule(timer, at: loop.deadline(after: peer.options.peerSilence))
    }

    /// Ends the test if anything was read after it began.
    func passTest() {
        guard test.pass(readAt: wire.lastRead) else { return }
        if let timer = testTimer.take() { loop.remove(timer) }
        owner.exchangeEnded(on: self)
    }

    /// Removes the timers of a closed connection.
    func removeTimers() {
        loop.remove(self)
        loop.remove(unread)
        if let timer = settingsTimer.take() { loop.remove(timer) }
        if let timer = testTimer.take() { loop.remove(timer) }
    }
}

/// A failed attempt that the origin has not processed.
enum HTTP2Refusal: Error {
    /// Nothing was sent, so the request can be sent on another connection.
    case unsent(NetworkError)
    /// The origin has refused the request, which may be another attempt with any method.
    case refused(NetworkError)
    /// The origin wants another attempt in HTTP/1.1.
    case needsHTTP1(NetworkError)

    /// The error of the attempt.
    var error: NetworkError {
        switch self {
        case .unsent(let error), .refused(let error), .needsHTTP1(let error): error
        }
    }
}

/// An owner that lends HTTP/2 connections.
protocol HTTP2ConnectionOwner: AnyObject {
    /// Handles a connection that may have room for another exchange.
    func exchangeEnded(on connection: HTTP2Connection)

    /// Handles a connection whose limits are known now.
    func settled(_ connection: HTTP2Connection)

    /// Handles a connection that accepts no more exchanges.
    func leaves(_ connection: HTTP2Connection)

    /// Handles the close of a connection.
    func closed(_ connection: HTTP2Connection)

    /// Handles a connection to this address that is dead.
    func distrust(_ address: String)
}
