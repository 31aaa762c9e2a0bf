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
    /// How long a task stays with a connection that has nothing to do.
    static let parkDelay = Duration.seconds(1)
    /// After so many parked connections the memory of their tasks is given back to the system.
    static let trimThreshold = 64
    static let trimDelay = Duration.milliseconds(500)
    /// How long an app whose exchange is cut may take to hear why.
    private static let lastWord = Duration.milliseconds(500)
    /// Lets no line wait longer than this in a loop's buffer.
    private static let flushInterval = Duration.milliseconds(200)

    /// How many channels a loop makes or closes in one turn.
    static let sliceLength = 32

    let loop: EventLoop
    var settings: Settings
    let handler: ProxyHandler
    var listeners: [Int: (listener: Listener, channel: String?)] = [:]
    var isDraining = false
    var connections: [ObjectIdentifier: DownstreamConnection] = [:]
    /// Channels that were made for a configuration that is about to come into force.
    private var prepared: [Channel] = []
    /// Channels whose exchanges may still end.
    private var retired: [RetiredChannel] = []
    private var flusher: ActionTimer?
    private var isFlusherArmed = false
    var trimmer: ActionTimer?
    private var cutter: ActionTimer?
    var parkedCount = 0
    var onDrained: (() -> Void)?
    /// The number of the listener that was opened last.
    var lastListener = 0
    /// How many connections there are to serve, for whoever spreads them.
    var load: ConnectionSpread<LoopBound<Worker>>.Load?

    /// The limits of the process, as far as a loop needs them.
    struct Settings: Sendable {
        /// What one request may be.
        var bounds: DownstreamConnection.Bounds
        /// How many connections the process may have.
        var connections: Int
        /// How many it has.
        var connectionCount: ConnectionCount
        /// Where other loops accept from the same sockets.
        var spread: ConnectionSpread<LoopBound<Worker>>?
        /// Whether the loop may poll before it sleeps.
        var mayPoll: Bool
        /// Whether exchanges are printed.
        var console: ConsoleStyle
        /// Told why connections of apps have to wait.
        var stalls: RateLimitedReport
    }

    init(_ loop: EventLoop, settings: Settings, requests: UpstreamRequest, table: ChannelTable) {
        self.loop = loop
        self.settings = settings
        handler = ProxyHandler(loop: loop, requests: requests, channels: table)
        handler.console = ConsoleLines(settings.console)
        handler.onLogged = { [unowned self] in armFlusher() }
        loop.mayPoll = settings.mayPoll
        load = settings.spread?.join(LoopBound(self, on: loop))
    }

    /// Serves what arrives at a socket, unless no more is served.
    func listen(
        on socket: borrowing ListeningSocket,
        number: Int,
        channel: String?
    ) throws(IOError) {
        guard !isDraining else { return }
        let listener = try Listener(
            socket,
            on: loop,
            betterPlace: load == nil ? nil : { [unowned self] in betterPlace(number) },
            onStall: { [unowned self] in settings.stalls("new connections wait: \($0)") }
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
        for connection in connections.values where connection.listener.number == number {
            connection.listener.channel = channel
        }
    }

    /// Accepts no more at a socket; what came over it ends after its exchange, at the latest when
    /// `limit` is over.
    func stopListening(_ number: Int, within limit: Duration) {
        listeners.removeValue(forKey: number)?.listener.close()
        handler.listenAddresses.remove(number)
        let affected = connections.values.filter { $0.listener.number == number }
        for connection in affected { connection.drain() }
        guard !affected.isEmpty else { return }
        let timer = ActionTimer {
            for connection in affected { connection.cut() }
        }
        loop.schedule(timer, at: loop.deadline(after: limit))
    }

    /// Puts other settings in force; limits are those of connections to come.
    func apply(_ settings: Settings) {
        self.settings = settings
        loop.mayPoll = settings.mayPoll
    }

    /// Makes what of these channels is new, for an `install` that follows.
    func prepare(_ channels: ArraySlice<ChannelShared>, loops: Int) {
        let present = Set(table.channels.map { ObjectIdentifier($0.shared) })
        let tallies = Dictionary(uniqueKeysWithValues: table.channels.map { ($0.name, $0.tally) })
        for shared in channels where !present.contains(ObjectIdentifier(shared)) {
            let tally = tallies[shared.name] ?? ChannelTally()
            prepared.append(Channel(shared, on: loop, loops: loops, tally: tally))
        }
    }

    /// What was prepared since the last call.
    func takePrepared() -> [Channel] {
        defer { prepared = [] }
        return prepared
    }

    /// Puts another configuration in force for what comes next.
    func install(_ table: ChannelTable) {
        let previous = handler.channels
        handler.channels = table
        let present = Set(table.channels.map { ObjectIdentifier($0) })
        let leaving = previous.channels.filter { !present.contains(ObjectIdentifier($0)) }
        retired.removeAll { $0.channel == nil }
        retired += leaving.map(RetiredChannel.init)
        retire(leaving[...])
        if previous.forward !== table.forward { previous.forward.retire() }
    }

    /// Closes what is idle of some channels, a few in each turn of the loop.
    private func retire(_ channels: ArraySlice<Channel>) {
        for channel in channels.prefix(Worker.sliceLength) { channel.retire() }
        let rest = channels.dropFirst(Worker.sliceLength)
        guard !rest.isEmpty else { return }
        let bound = LoopBound((worker: self, rest: rest), on: loop)
        loop.submit { bound.value.worker.retire(bound.value.rest) }
    }

    /// The channels of this loop.
    var table: ChannelTable { handler.channels }

    /// The youngest of the exchanges with this id that ended here, if it is still remembered.
    func recentExchange(_ key: RecentExchanges.Key, _ id: String) -> RecentExchange? {
        handler.recent.find(key, id)
    }

    /// What no channel claimed here.
    var unclaimed: ChannelCounters { handler.unclaimed.counters }

    /// How many connections are open.
    var connectionCount: Int { connections.count }

    // MARK: - Ending

    /// Accepts no more, and ends idle connections; `completion` is called when all have ended.
    func drain(_ completion: @escaping () -> Void) {
        isDraining = true
        if let load { settings.spread?.leave(load) }
        for listener in listeners.values { listener.listener.close() }
        listeners = [:]
        onDrained = completion
        for connection in connections.values { connection.drain() }
        if connections.isEmpty { completion() }
    }

    /// Ends what is left; `completion` is called when the last of it has told its record.
    func cut(_ completion: @escaping () -> Void) {
        // Who waits for the drain learns of its end, too.
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
        for channel in handler.channels.channels { channel.log.flush(now: .now) }
        for retired in retired { retired.channel?.log.flush(now: .now) }
        handler.channels.ownLog.flush(now: .now)
    }
}

/// A channel that is no longer in force, for as long as somebody uses it.
private struct RetiredChannel {
    weak var channel: Channel?
}
