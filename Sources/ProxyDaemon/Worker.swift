import EventIO
import HTTP1
import HTTPMessage
import NetworkCore
import ProxyConfig
import RequestLog

/// What one event loop does for the daemon: accept, serve, keep time for the logs.
///
/// Not `Sendable`.
final class Worker {
    let loop: EventLoop
    private let settings: Settings
    private let handler: ProxyHandler
    private var listeners: [Listener] = []
    private var connections: [ObjectIdentifier: DownstreamConnection] = [:]
    private var flusher: FlushTimer?
    private var isFlusherArmed = false
    private var onDrained: (() -> Void)?

    /// The limits of the process, as far as a loop needs them.
    struct Settings: Sendable {
        var limits: HTTP1Limits
        var headTimeout: Duration
        /// The slowest pace of a request's content, in bytes a second.
        var bodyRate: Int?
        var connections: Int
        /// Whether other loops accept from the same sockets.
        var sharesListeners: Bool
        /// Whether exchanges are printed.
        var console: Daemon.Console
    }

    init(_ loop: EventLoop, settings: Settings, requests: UpstreamRequest, table: ChannelTable) {
        self.loop = loop
        self.settings = settings
        handler = ProxyHandler(loop: loop, requests: requests, channels: table)
        handler.console = ConsoleLines(settings.console)
        handler.onLogged = { [unowned self] in armFlusher() }
    }

    /// Serves what arrives at a socket.
    func listen(on socket: borrowing ListeningSocket, channel: String?) throws(IOError) {
        listeners.append(
            try Listener(socket, on: loop, sharesSocket: settings.sharesListeners) {
                [unowned self] in serve($0, channel: channel)
            }
        )
    }

    /// Puts another configuration in force for what comes next.
    func install(_ table: ChannelTable) {
        let retired = handler.channels
        handler.channels = table
        for channel in retired.channels
        where !table.channels.contains(where: { $0 === channel }) {
            channel.retire()
        }
        if retired.forward !== table.forward { retired.forward.retire() }
    }

    /// The channels of this loop.
    var table: ChannelTable { handler.channels }

    /// One of the exchanges that ended here, if it is still remembered.
    func recentExchange(_ requestID: String) -> RecentExchange? {
        handler.recent.find(requestID)
    }

    /// How many connections are open.
    var connectionCount: Int { connections.count }

    // MARK: - Connections

    private func serve(_ socket: StreamSocket, channel: String?) {
        guard connections.count < settings.connections else {
            // Cheaper than an answer, and the kernel tells the app.
            socket.reset()
            return
        }
        let connection = DownstreamConnection(
            socket,
            limits: settings.limits,
            headTimeout: settings.headTimeout,
            pace: BodyPace(rate: settings.bodyRate),
            dedicatedChannel: channel
        )
        connections[ObjectIdentifier(connection)] = connection
        let bound = LoopBound((worker: self, connection: connection), on: loop)
        // One task for the connection's life, which never leaves the loop.
        let task = Task(executorPreference: loop) {
            let (worker, connection) = bound.value
            await worker.run(connection)
        }
        connection.interim = handler.interimWriter(for: connection)
        // An app that goes away takes its exchange with it.
        connection.task = task
        socket.onPeerClosed = { task.cancel() }
    }

    private func run(_ connection: DownstreamConnection) async {
        do {
            while let head = try await connection.nextHead() {
                guard await handler.handle(head, on: connection) else { break }
            }
        } catch let error as HTTP1Error {
            await handler.refuse(
                NetworkError(
                    .httpRequestError,
                    side: .downstream,
                    detail: "\(error.reason)",
                    status: error.status
                ),
                on: connection
            )
        } catch {
            await handler.refuse(
                NetworkError(
                    .requestHeadTimeout,
                    side: .downstream,
                    detail: "the head of the request did not arrive in time"
                ),
                on: connection
            )
        }
        connection.close()
        connection.task = nil
        connections[ObjectIdentifier(connection)] = nil
        if connections.isEmpty { onDrained?() }
    }

    // MARK: - Ending

    /// Accepts no more, and ends idle connections; `completion` is called when all have ended.
    func drain(_ completion: @escaping () -> Void) {
        for listener in listeners { listener.close() }
        listeners = []
        onDrained = completion
        for connection in connections.values { connection.drain() }
        if connections.isEmpty { completion() }
    }

    /// Ends what is left; `completion` is called when the last of it has told its record.
    func cut(_ completion: @escaping () -> Void) {
        onDrained = completion
        for connection in connections.values { connection.cut() }
        if connections.isEmpty { completion() }
    }

    /// Writes the logs.
    func close() {
        flushLogs()
        if let flusher { loop.remove(flusher) }
        flusher = nil
    }

    private func armFlusher() {
        guard !isFlusherArmed else { return }
        isFlusherArmed = true
        let flusher = flusher ?? FlushTimer { [unowned self] in flushLogs() }
        self.flusher = flusher
        loop.schedule(flusher, at: loop.deadline(after: FlushTimer.interval))
    }

    private func flushLogs() {
        isFlusherArmed = false
        for channel in handler.channels.channels { channel.log.flush(now: .now) }
        handler.channels.ownLog.flush(now: .now)
    }
}

/// Lets no line wait longer than this in a loop's buffer.
private final class FlushTimer: TimerEntry {
    static let interval = Duration.milliseconds(200)
    private let action: () -> Void

    init(_ action: @escaping () -> Void) {
        self.action = action
    }

    override func fire() { action() }
}
