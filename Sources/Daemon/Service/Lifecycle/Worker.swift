import NetproxyChannels
import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTP2
import NetproxyHTTPMessage
import NetproxyPath
import NetproxyRequestLog
import NetworkCore

/// The daemon's work on one event loop: accepts connections, serves them, and flushes the logs.
///
/// Not `Sendable`.
final class Worker {
    /// The time after which a task leaves an idle connection.
    static let parkDelay = Duration.seconds(1)
    /// The delay between parking or ending many connections and returning their memory to the system.
    static let trimDelay = Duration.milliseconds(500)
    /// The maximum time for a client to read the reason after its exchange was cut.
    private static let lastWord = Duration.milliseconds(500)
    /// The maximum time that a log line is buffered.
    private static let flushInterval = Duration.milliseconds(200)

    /// The maximum number of channels that a loop creates or closes in one turn.
    static let sliceLength = 32

    let loop: EventLoop
    let shared: Shared
    var limits: Limits
    let handler: ProxyHandler
    var listeners: [Int: (listener: Listener, channel: String?)] = [:]
    private var isAccepting = true
    var isDraining = false
    var connections: [ObjectIdentifier: DownstreamConnection] = [:]
    /// The channels of the next configuration, before it takes effect.
    private var prepared: [Channel] = []
    /// The channels of earlier configurations, while an exchange uses them.
    private var retired: [RetiredChannel] = []
    private var flusher: ActionTimer?
    private var isFlusherArmed = false
    var trimmer: ActionTimer?
    private var cutter: ActionTimer?
    var heap = UnusedHeap()
    var onDrained: (() -> Void)?
    /// The number of the listener opened last.
    var lastListener = 0
    /// The load that the spread of connections sees; `nil` with a single loop.
    var load: ConnectionSpread<LoopBound<Worker>>.Load?

    /// The state that all loops of the process share.
    struct Shared: Sendable {
        /// The number of connections from clients in the process.
        let connectionCount = ConnectionCount()
        /// Distributes connections over the loops; `nil` with a single loop.
        var spread: ConnectionSpread<LoopBound<Worker>>?
        /// Whether exchanges are printed, and in which style.
        let console: ConsoleStyle
        /// Reports the reason why connections of clients have to wait.
        let stalls: RateLimitedReport
    }

    /// The limits at the top level of the configuration, which apply to every loop.
    struct Limits: Sendable {
        /// The limits of one request.
        let bounds: DownstreamLimits
        /// The maximum number of connections of the process.
        let connections: Int
        /// Whether the loop may poll before it sleeps.
        let mayPoll: Bool

        init(_ configuration: ProxyConfiguration, bodyRate: Int?) {
            let limits = configuration.limits
            var wire = HTTP1Limits()
            wire.sectionSize = limits.headerSize.bytes
            wire.fieldCount = limits.headerCount
            wire.targetSize = limits.targetSize.bytes
            bounds = DownstreamLimits(
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

    /// Assigns a listener and its connections to another channel, or to all channels.
    func give(_ number: Int, to channel: String?) {
        listeners[number]?.channel = channel
        handler.listenAddresses.give(number, to: channel)
        for connection in connections.values where connection.listenerNumber == number {
            connection.give(to: channel)
        }
    }

    /// Stops accepting from a socket; its connections end after their exchange, at the latest after `limit`.
    func stopListening(_ number: Int, within limit: Duration) {
        let listener = listeners[number]?.listener
        // Clients assume that their waiting connections are open.
        listener?.acceptWaiting()
        listener?.close()
        listeners[number] = nil
        handler.listenAddresses.remove(number)
        for connection in connections(of: number) { connection.drain() }
        // This includes the connections that other loops pass over until then.
        let timer = ActionTimer { [weak self] in
            for connection in self?.connections(of: number) ?? [] { connection.cut() }
        }
        loop.schedule(timer, at: loop.deadline(after: limit))
    }

    private func connections(of listener: Int) -> [DownstreamConnection] {
        connections.values.filter { $0.listenerNumber == listener }
    }

    /// Puts new limits in force, for future connections.
    func apply(_ limits: Limits) {
        self.limits = limits
        loop.mayPoll = limits.mayPoll
    }

    /// Creates the new channels for the next `install`.
    func prepare(_ channels: ArraySlice<ChannelRules>, loops: Int) {
        let present = Set(table.channels.map { ObjectIdentifier($0.rules) })
        let tallies = Dictionary(uniqueKeysWithValues: table.channels.map { ($0.name, $0.tally) })
        for rules in channels where !present.contains(ObjectIdentifier(rules)) {
            let tally = tallies[rules.name] ?? ChannelTally()
            prepared.append(Channel(rules, on: loop, loops: loops, tally: tally))
        }
    }

    /// Returns the channels prepared since the last call.
    func takePrepared() -> [Channel] {
        defer { prepared = [] }
        return prepared
    }

    /// Puts a new table of channels in force for future requests.
    func install(_ table: ChannelTable) {
        let previous = handler.table
        handler.table = table
        let present = Set(table.channels.map { ObjectIdentifier($0) })
        let leaving = previous.channels.filter { !present.contains(ObjectIdentifier($0)) }
        retired.removeAll { $0.channel == nil }
        retired += leaving.map(RetiredChannel.init)
        retire(leaving[...])
        if previous.forward !== table.forward { previous.forward.retire() }
        // An upstream may have moved: operators reload in that case.
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

    /// Returns the latest exchange with this id that ended on this loop, if it is still remembered.
    func recentExchange(_ key: RecentExchanges.Key, _ id: String) -> RecentExchange? {
        handler.recorder.recent.find(key, id)
    }

    /// The lines of the remembered exchanges of this loop; some occur twice.
    var rememberedLines: [UInt8] { handler.recorder.recent.everyLine }

    /// Returns the latest exchange of this loop that failed, was refused or was sent again, of a channel or
    /// of all.
    func newestTroubled(in channel: String?) -> RecentExchange? {
        handler.recorder.recent.newestTroubled(in: channel)
    }

    /// The counts of this loop's exchanges without a channel.
    var unclaimed: ChannelCounters { handler.recorder.unclaimed.counters }

    /// The number of open connections.
    var connectionCount: Int { connections.count }

    // MARK: - Ending

    /// Accepts the waiting connections, stops accepting, and leaves the spread of connections.
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
        // The drain ends as well.
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
        // Wake the writer once for all logs: each wake-up of its thread costs two context switches.
        handler.table.ownLog.log.sink.writeSoon()
    }
}

/// A channel of an earlier configuration, while an exchange uses it.
private struct RetiredChannel {
    weak var channel: Channel?
}

extension HTTP2Limits {
    /// Creates the configured limits; the other limits are the defaults.
    fileprivate init(_ configured: ProxyConfiguration.Limits.HTTP2) {
        self.init()
        streams = configured.streams
    }
}
