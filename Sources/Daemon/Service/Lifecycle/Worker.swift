import NetproxyChannels
import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTP2
import NetproxyHTTPMessage
import NetproxyPath
import NetproxyRequestLog
import NetworkCore

/// What one event loop does for the daemon: it accepts connections, serves them, and flushes the logs.
///
/// Not `Sendable`.
final class Worker {
    /// How long a task stays with an idle connection.
    static let parkDelay = Duration.seconds(1)
    /// How long after many connections were parked or ended their memory is returned to the system.
    static let trimDelay = Duration.milliseconds(500)
    /// How long a client whose exchange is cut may take to read the reason.
    private static let lastWord = Duration.milliseconds(500)
    /// Maximum time that a log line is buffered.
    private static let flushInterval = Duration.milliseconds(200)

    /// How many channels a loop makes or closes in one turn.
    static let sliceLength = 32

    let loop: EventLoop
    let shared: Shared
    var limits: Limits
    let handler: ProxyHandler
    var listeners: [Int: (listener: Listener, channel: String?)] = [:]
    private var isAccepting = true
    var isDraining = false
    var connections: [ObjectIdentifier: DownstreamConnection] = [:]
    /// Channels of a configuration that is about to come into force.
    private var prepared: [Channel] = []
    /// Channels that are no longer in force, while an exchange uses them.
    private var retired: [RetiredChannel] = []
    private var flusher: ActionTimer?
    private var isFlusherArmed = false
    var trimmer: ActionTimer?
    private var cutter: ActionTimer?
    var heap = UnusedHeap()
    var onDrained: (() -> Void)?
    /// The number of the listener that was opened last.
    var lastListener = 0
    /// The load that the spread of connections sees; `nil` with a single loop.
    var load: ConnectionSpread<LoopBound<Worker>>.Load?

    /// What all loops of the process share.
    struct Shared: Sendable {
        /// How many connections from clients the process has.
        let connectionCount = ConnectionCount()
        /// Spreads connections over the loops; `nil` with a single loop.
        var spread: ConnectionSpread<LoopBound<Worker>>?
        /// Whether and how exchanges are printed.
        let console: ConsoleStyle
        /// Reports why connections of clients have to wait.
        let stalls: RateLimitedReport
    }

    /// What the top of the configuration says for every loop.
    struct Limits: Sendable {
        /// What one request may be.
        let bounds: DownstreamConnection.Bounds
        /// How many connections the process may have.
        let connections: Int
        /// Whether the loop may poll before it sleeps.
        let mayPoll: Bool

        init(_ configuration: ProxyConfiguration, bodyRate: Int?) {
            let limits = configuration.limits
            var wire = HTTP1Limits()
            wire.sectionSize = limits.headerSize.bytes
            wire.fieldCount = limits.headerCount
            wire.targetSize = limits.targetSize.bytes
            bounds = DownstreamConnection.Bounds(
                limits: wire,
                headTimeout: limits.headTimeout,
                bodyRate: bodyRate,
                parkDelay: Worker.parkDelay,
                http2: limits.http2.map(HTTP2Limits.init)
            )
            connections = limits.connections
            mayPoll = configuration.busyPoll == .auto
        }
    }

    init(
        _ loop: EventLoop,
        sharing shared: Shared,
        limits: Limits,
        requests: UpstreamRequest,
        table: ChannelTable
    ) {
        self.loop = loop
        self.shared = shared
        self.limits = limits
        handler = ProxyHandler(loop: loop, requests: requests, channels: table)
        handler.recorder.report(to: ConsoleLines(shared.console)) { [unowned self] in armFlusher() }
        loop.mayPoll = limits.mayPoll
        load = shared.spread?.join(LoopBound(self, on: loop))
    }

    /// Accepts connections from a socket, unless the worker is draining.
    func listen(
        on socket: borrowing ListeningSocket,
        number: Int,
        channel: String?
    ) throws(IOError) {
        guard isAccepting else { return }
        let listener = try Listener(
            socket,
            on: loop,
            betterPlace: load == nil ? nil : { [unowned self] in betterPlace(number) },
            onStall: { [unowned self] in shared.stalls("new connections wait: \($0)") }
        ) { [unowned self] in
            load?.add()
            serve($0, listener: number, channel: listeners[number]?.channel)
        }
        listeners[number] = (listener, channel)
        lastListener = max(lastListener, number)
        handler.listenAddresses.add(socket.address, number: number, channel: channel)
    }

    /// Gives a listener to another channel, or to all of them, with the connections that came over it.
    func give(_ number: Int, to channel: String?) {
        listeners[number]?.channel = channel
        handler.listenAddresses.give(number, to: channel)
        for connection in connections.values where connection.listenerNumber == number {
            connection.give(to: channel)
        }
    }

    /// Accepts no more at a socket; what came over it ends after its exchange, at the latest when
    /// `limit` is over.
    func stopListening(_ number: Int, within limit: Duration) {
        let listener = listeners[number]?.listener
        // Clients whose connections wait to be accepted take them for open.
        listener?.acceptWaiting()
        listener?.close()
        listeners[number] = nil
        handler.listenAddresses.remove(number)
        for connection in connections(of: number) { connection.drain() }
        // Also those that another loop has handed over by then.
        let timer = ActionTimer { [weak self] in
            for connection in self?.connections(of: number) ?? [] { connection.cut() }
        }
        loop.schedule(timer, at: loop.deadline(after: limit))
    }

    private func connections(of listener: Int) -> [DownstreamConnection] {
        connections.values.filter { $0.listenerNumber == listener }
    }

    /// Puts other limits in force, for connections to come.
    func apply(_ limits: Limits) {
        self.limits = limits
        loop.mayPoll = limits.mayPoll
    }

    /// Makes the channels that are new, for the next `install`.
    func prepare(_ channels: ArraySlice<ChannelRules>, loops: Int) {
        let present = Set(table.channels.map { ObjectIdentifier($0.rules) })
        let tallies = Dictionary(uniqueKeysWithValues: table.channels.map { ($0.name, $0.tally) })
        for rules in channels where !present.contains(ObjectIdentifier(rules)) {
            let tally = tallies[rules.name] ?? ChannelTally()
            prepared.append(Channel(rules, on: loop, loops: loops, tally: tally))
        }
    }

    /// Returns the channels that were prepared since the last call.
    func takePrepared() -> [Channel] {
        defer { prepared = [] }
        return prepared
    }

    /// Puts another table of channels in force for the requests to come.
    func install(_ table: ChannelTable) {
        let previous = handler.table
        handler.table = table
        let present = Set(table.channels.map { ObjectIdentifier($0) })
        let leaving = previous.channels.filter { !present.contains(ObjectIdentifier($0)) }
        retired.removeAll { $0.channel == nil }
        retired += leaving.map(RetiredChannel.init)
        retire(leaving[...])
        if previous.forward !== table.forward { previous.forward.retire() }
        // An upstream may have moved: a reload is what an operator does then.
        for channel in table.channels { channel.followNames() }
    }

    /// Closes the idle connections of channels, a few channels in each turn of the loop.
    private func retire(_ channels: ArraySlice<Channel>) {
        for channel in channels.prefix(Worker.sliceLength) { channel.retire() }
        let rest = channels.dropFirst(Worker.sliceLength)
        guard !rest.isEmpty else { return }
        let bound = LoopBound((worker: self, rest: rest), on: loop)
        loop.submit { bound.value.worker.retire(bound.value.rest) }
    }

    /// The channels of this loop.
    var table: ChannelTable { handler.table }

    /// Returns the latest exchange with this id that ended here, if it is still remembered.
    func recentExchange(_ key: RecentExchanges.Key, _ id: String) -> RecentExchange? {
        handler.recorder.recent.find(key, id)
    }

    /// The lines of the exchanges that ended here and are still remembered; some of them twice.
    var rememberedLines: [UInt8] { handler.recorder.recent.everyLine }

    /// Returns the latest exchange that went wrong here, of a channel or of all.
    func newestTroubled(in channel: String?) -> RecentExchange? {
        handler.recorder.recent.newestTroubled(in: channel)
    }

    /// What no channel claimed here.
    var unclaimed: ChannelCounters { handler.recorder.unclaimed.counters }

    /// How many connections are open.
    var connectionCount: Int { connections.count }

    // MARK: - Ending

    /// Accepts no more, after what waits to be accepted, and gets no more from other loops.
    func stopAccepting() {
        isAccepting = false
        if let load { shared.spread?.leave(load) }
        for listener in listeners.values {
            listener.listener.acceptWaiting()
            listener.listener.close()
        }
        listeners = [:]
    }

    /// Ends connections after their exchanges; calls `completion` when all have ended.
    func drain(_ completion: @escaping () -> Void) {
        isDraining = true
        onDrained = completion
        for connection in connections.values { connection.drain() }
        if connections.isEmpty { completion() }
    }

    /// Ends all connections; calls `completion` when the last of them has written its record.
    func cut(_ completion: @escaping () -> Void) {
        // The drain is over as well.
        let earlier = onDrained
        onDrained = {
            earlier?()
            completion()
        }
        for connection in connections.values { connection.cut() }
        if connections.isEmpty { onDrained?() }
        if let cutter { loop.remove(cutter) }
        let cutter = ActionTimer { [unowned self] in
            for connection in connections.values { connection.socket.abort() }
        }
        self.cutter = cutter
        loop.schedule(cutter, at: loop.deadline(after: Worker.lastWord))
    }

    /// Writes the logs.
    func close() {
        flushLogs()
        if let flusher { loop.remove(flusher) }
        flusher = nil
        if let trimmer { loop.remove(trimmer) }
        trimmer = nil
        if let cutter { loop.remove(cutter) }
        cutter = nil
    }

    private func armFlusher() {
        guard !isFlusherArmed else { return }
        isFlusherArmed = true
        let flusher = flusher ?? ActionTimer { [unowned self] in flushLogs() }
        self.flusher = flusher
        loop.schedule(flusher, at: loop.deadline(after: Worker.flushInterval))
    }

    private func flushLogs() {
        isFlusherArmed = false
        for channel in handler.table.channels { channel.log.flush(now: .now) }
        for retired in retired { retired.channel?.log.flush(now: .now) }
        handler.table.ownLog.flush(now: .now)
        // Once for all of them: each wake-up of the writing thread costs two context switches.
        handler.table.ownLog.log.sink.writeSoon()
    }
}

/// A channel that is no longer in force, for as long as an exchange uses it.
private struct RetiredChannel {
    weak var channel: Channel?
}

extension HTTP2Limits {
    /// The configured limits; the others are those of every connection.
    fileprivate init(_ configured: ProxyConfiguration.Limits.HTTP2) {
        self.init()
        streams = configured.streams
    }
}
