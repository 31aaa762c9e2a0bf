import NetproxyBytes
package import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTP2
import NetproxyHTTPMessage
import NetproxyLiveObjects
import NetworkCore
import OriginTransport

/// A connection from a client that speaks HTTP/2 (RFC 9113), and its streams.
///
/// Not `Sendable`: it never leaves its loop.
package final class DownstreamSession: TimerEntry, HTTP2WireUser, StreamSession {
    let loop: EventLoop
    let peer: SocketPeer
    let bounds: DownstreamLimits
    /// The connection, which outlives its session.
    private unowned let connection: DownstreamConnection
    var listener: ListenerSource { connection.listener }
    let localAddress: SocketAddress?
    private(set) var shutdown = DownstreamState.Shutdown.none
    /// Serves a stream, and calls `ended` afterwards.
    private let serve: (DownstreamStream) -> Void
    let wire: HTTP2Wire
    private let mostStreams: Int
    private var session: HTTP2Session { wire.session }
    /// The streams that are not closed.
    private var streams = StreamTable<DownstreamStream>()
    /// The number of streams whose task has not ended; the stream itself may be closed.
    private var working = 0
    private var end: CheckedContinuation<Void, Never>?
    private var hasEnded = false
    /// Whether the last GOAWAY has been sent.
    private var isLast = false
    private(set) var idleDeadline = UInt64.max
    /// Ends the connection if a head takes too long after it has begun.
    private var blockTimer: ActionTimer?
    private let life = LiveObject(DownstreamSession.self)

    /// The time in which a client may still begin streams after the first GOAWAY.
    private static let farewell = Duration.seconds(1)

    /// Creates the session of a connection whose first bytes are the preface.
    package init(
        _ connection: DownstreamConnection,
        serve: @escaping (DownstreamStream) -> Void
    ) {
        let socket = connection.socket
        loop = socket.loop
        peer = connection.peer
        self.connection = connection
        localAddress = socket.localAddress
        shutdown = connection.state.shutdown
        bounds = connection.bounds
        self.serve = serve
        var limits = bounds.http2 ?? HTTP2Limits()
        limits.messages = connection.limits
        mostStreams = limits.streams
        let session = HTTP2Session(.server, limits: limits)
        wire = HTTP2Wire(socket, session, read: connection.buffer.moved())
        wire.writeIdle = CurrentRequest.idleTimeout
        super.init()
        wire.user = self
    }

    /// Serves the connection, and returns when it is closed and its exchanges are over.
    package func run() async {
        rest()
        wire.start()
        if shutdown != .none { farewell() }
        if !hasEnded || working > 0 { await withCheckedContinuation { end = $0 } }
    }

    private func finishIfOver() {
        if hasEnded, working == 0 { end.take()?.resume() }
    }

    // MARK: - Streams

    private func begin(_ stream: DownstreamStream) {
        streams[stream.id] = stream
        working += 1
        if shutdown == .none { loop.suspend(self) }
        serve(stream)
    }

    /// Ends the exchange of a stream whose task is done.
    package func ended(_ stream: DownstreamStream) {
        stream.finish()
        working -= 1
        if working == 0, !hasEnded {
            if isLast {
                wire.close()
            } else if shutdown == .none {
                rest()
            }
        }
        finishIfOver()
    }

    /// Keeps the connection open for a while without an exchange.
    private func rest() {
        idleDeadline = loop.now &+ (bounds.keepAlive)
        loop.schedule(self, at: idleDeadline)
    }

    package override func fire() {
        guard !isLast else {
            if working == 0 { wire.close() }
            return
        }
        if shutdown == .none {
            guard working == 0 else { return }
            shutdown = .draining
        }
        isLast = true
        send { $0.goAway(isLast: true) }
        if working == 0 { wire.close() }
    }

    /// Changes the output, which is written when the loop's turn ends.
    func send(_ change: (HTTP2Session) -> Void) {
        change(session)
        wire.flushSoon()
    }

    // MARK: - Events of the client

    func received(_ event: HTTP2Event, _ content: ByteSlice?) {
        switch event {
        case .request(let id, let head, let ends):
            guard working < mostStreams * 2 else { return send { $0.reset(id, .refusedStream) } }
            begin(DownstreamStream(id, on: self, head, ends: ends))
        case .malformed(let id, let fault, let request):
            if let stream = streams[id] { return stream.fail(fault) }
            guard working < mostStreams * 2 else { return send { $0.reset(id, .protocolError) } }
            begin(DownstreamStream(id, on: self, fault, request))
        case .content(let id, _):
            guard let content else { return }
            if let stream = streams[id] {
                stream.stream.receive(content)
            } else {
                send { $0.consumed(content.count, on: id) }
            }
        case .ended(let id, _): streams[id]?.stream.receiveEnd()
        case .closed(let id, let code):
            streams.take(id)?.close(.stream(code))
        case .sent(let id, let count): streams[id]?.stream.sent(count)
        case .goAway, .settings, .pong, .response: break
        }
    }

    func receivedAll() {
        guard !hasEnded else { return }
        guard session.isInBlock else {
            if let timer = blockTimer.take() { loop.remove(timer) }
            return
        }
        guard blockTimer == nil else { return }
        // The same time as for a head in HTTP/1.
        let timer = ActionTimer { [unowned self] in
            if session.isInBlock { wire.close(.enhanceYourCalm) }
        }
        blockTimer = timer
        loop.schedule(timer, at: loop.deadline(after: bounds.headTimeout))
    }

    func ended(_ end: HTTP2WireEnd) {
        hasEnded = true
        loop.remove(self)
        if let timer = blockTimer.take() { loop.remove(timer) }
        let left = streams.all
        streams = StreamTable()
        for stream in left { stream.close(.connection) }
        finishIfOver()
    }

    // MARK: - The end

    /// Ends the connection after its exchanges, and after requests in transit.
    package func drain() {
        guard shutdown == .none else { return }
        shutdown = .draining
        farewell()
    }

    private func farewell() {
        guard !hasEnded else { return }
        send { $0.goAway(isLast: false) }
        loop.schedule(self, at: loop.deadline(after: DownstreamSession.farewell))
    }

    /// Ends the connection now; a response that has not begun contains the reason.
    package func cut() {
        shutdown = .cut
        for stream in streams.all { stream.cut() }
        if working == 0 { wire.close() }
    }

    /// The deadline of an idle connection; `nil` while it has an exchange.
    package var deadlineToSpare: UInt64? { working == 0 && shutdown == .none ? idleDeadline : nil }
}
