import NetproxyBytes
package import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTP2
import NetproxyHTTPMessage
import NetproxyLiveObjects
import NetworkCore
import OriginTransport

/// A connection from an app that speaks HTTP/2 (RFC 9113), and its streams.
///
/// Not `Sendable`: it never leaves its loop.
package final class DownstreamSession: TimerEntry, HTTP2WireUser, StreamSession {
    let loop: EventLoop
    let peer: SocketPeer
    let bounds: DownstreamConnection.Bounds
    /// The connection, which outlives its session.
    private unowned let connection: DownstreamConnection
    var listener: DownstreamConnection.Source { connection.listener }
    let localAddress: SocketAddress?
    private(set) var shutdown = DownstreamState.Shutdown.none
    /// Serves a stream; the stream tells the session when that has ended.
    private let serve: (DownstreamStream) -> Void
    private let wire: HTTP2Wire
    private let mostStreams: Int
    private var session: HTTP2Session { wire.session }
    /// Those that the app has not ended.
    private var streams = StreamTable<DownstreamStream>()
    /// Those whose task is still at work, the app's wish or not.
    private var working = 0
    private var end: CheckedContinuation<Void, Never>?
    private var hasEnded = false
    /// Whether the app has been told which stream is the last.
    private var isLast = false
    private(set) var idleDeadline = UInt64.max
    /// Ends the connection when a head that has begun takes too long.
    private var blockTimer: ActionTimer?
    private let life = LiveObject(DownstreamSession.self)

    /// How long an app may still begin streams after it was told that the connection ends.
    private static let farewell = Duration.seconds(1)

    /// Takes a connection over whose first bytes are the preface.
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
        limits.messages = bounds.limits
        mostStreams = limits.streams
        let session = HTTP2Session(.server, limits: limits)
        wire = HTTP2Wire(socket, session, read: connection.buffer.moved())
        wire.writeIdle = DownstreamConnection.CurrentRequest.idleTimeout
        super.init()
        wire.user = self
    }

    /// Serves the connection; returns when it is closed and its exchanges are over.
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

    /// Nothing is under way: the connection may stay for a while.
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
        session.goAway(isLast: true)
        wire.flushSoon()
        if working == 0 { wire.close() }
    }

    func consumed(_ count: Int, on stream: Int32) {
        session.consumed(count, on: stream)
        wire.flushSoon()
    }

    func sendInterim(_ head: OutputBuffer, on stream: Int32) {
        session.sendInterim(head, on: stream)
        wire.flushSoon()
    }

    func sendResponse(_ head: OutputBuffer, on stream: Int32, hasContent: Bool) {
        session.sendResponse(head, on: stream, hasContent: hasContent)
        wire.flushSoon()
    }

    func send(_ piece: ByteSlice, on stream: Int32) {
        session.send(piece, on: stream)
        wire.flushSoon()
    }

    func end(on stream: Int32, trailers: HTTPHeaders? = nil) {
        session.end(stream, trailers: trailers)
        wire.flushSoon()
    }

    func stopReceiving(on stream: Int32) {
        session.stopReceiving(on: stream)
        wire.flushSoon()
    }

    func reset(_ stream: Int32, _ code: HTTP2Code) {
        session.reset(stream, code)
        wire.flushSoon()
    }

    // MARK: - What the app says

    func received(_ event: HTTP2Event, _ content: ByteSlice?) {
        switch event {
        case .request(let id, let head, let ends):
            guard working < mostStreams * 2 else { return reset(id, .refusedStream) }
            begin(DownstreamStream(id, on: self, head, ends: ends))
        case .malformed(let id, let fault, let line):
            if let stream = streams[id] { return stream.fail(fault) }
            guard working < mostStreams * 2 else { return reset(id, .protocolError) }
            begin(DownstreamStream(id, on: self, fault, line))
        case .content(let id, _): if let content { streams[id]?.took(content) }
        case .ended(let id, _): streams[id]?.end()
        case .closed(let id, let code):
            streams.take(id)?.close(.stream(code))
        case .sent(let id, let count): streams[id]?.sent(count)
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
        // A head that has begun has as long as in HTTP/1.
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

    /// Ends the connection after its exchanges, and after requests that are on their way.
    package func drain() {
        guard shutdown == .none else { return }
        shutdown = .draining
        farewell()
    }

    private func farewell() {
        guard !hasEnded else { return }
        session.goAway(isLast: false)
        wire.flushSoon()
        loop.schedule(self, at: loop.deadline(after: DownstreamSession.farewell))
    }

    /// Ends the connection now; apps whose response has not begun are told why.
    package func cut() {
        shutdown = .cut
        for stream in streams.all { stream.cut() }
        if working == 0 { wire.close() }
    }

    /// Until when it may stay as it is, if it can be spared; `nil` while it has an exchange.
    package var deadlineToSpare: UInt64? { working == 0 && shutdown == .none ? idleDeadline : nil }
}
