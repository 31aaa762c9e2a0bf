import NetproxyConfig
package import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
package import NetproxyRequestLog
import NetworkCore
import OriginTransport

/// A channel on one loop: its chain, its pool, its log buffer.
///
/// Not `Sendable`.
package final class Channel {
    package let rules: ChannelRules
    package let log: LogBuffer
    /// What it did on this loop.
    package let tally: ChannelTally
    /// Fields that the channel's rules name and the table of known fields does not, at most 64.
    private let ruleFields: [HTTPFieldName]
    private let loop: EventLoop
    /// One for each upstream.
    private let pools: [OriginPool]
    /// The interceptors and, after them, the upstream.
    let chain: RequestChain
    /// Whether the proxy names itself in `Via`.
    private(set) var announcesProxy = false
    /// Whether that may be decided otherwise for a request that a netproxy has sent before.
    let detectsCircles: Bool

    package init(
        _ rules: ChannelRules,
        on loop: EventLoop,
        loops: Int,
        tally: ChannelTally = ChannelTally()
    ) {
        self.rules = rules
        self.tally = tally
        self.loop = loop
        detectsCircles = rules.configuration.headers.via == .auto
        let log = LogBuffer(rules.log)
        self.log = log
        ruleFields = Array(rules.configuration.editedFields.rare.prefix(64))
        if let outage = rules.outage {
            pools = []
            chain = RequestChain([], transport: outage)
            return
        }
        if let samples = rules.samples {
            pools = []
            chain = rules.stack.chain(to: samples.timed(by: SystemClock()))
            return
        }
        let routes = rules.upstreams.map { origin, basePath in
            let pool = OriginPool(
                origin,
                options: rules.options(forLoop: loop.index, of: loops),
                tls: origin.scheme == .https ? rules.tls : nil,
                on: loop,
                serving: .connections
            )
            pool.onUnpinnedPeer = { Channel.warnUnpinned(origin, log) }
            return (pool, UpstreamRoute(pool, basePath: basePath))
        }
        pools = routes.map(\.0)
        let transport: any HTTPTransport =
            routes.count == 1
            ? LoopTransport(routes[0].0)
            : FailoverTransport(routes.map(\.1), rules.rests, on: loop)
        chain = rules.stack.chain(to: transport)
    }

    package var name: String { rules.name }
    var origin: Origin { rules.origin }
    var access: AccessPolicy { rules.access }
    var idleTimeout: Duration? { rules.idleTimeout }
    var totalTimeout: Duration? { rules.totalTimeout }
    var credentialFields: [HTTPFieldName] { rules.credentialFields }
    var trace: ChannelConfiguration.Trace { rules.trace }
    var loggedHeaders: [HTTPFieldName] { rules.loggedHeaders }
    var logsHeaders: Bool { !rules.loggedHeaders.isEmpty }

    /// Returns which of the channel's rare fields a request has, one bit each.
    func rareFields(in headers: HTTPHeaders) -> UInt64 {
        guard !ruleFields.isEmpty else { return 0 }
        var bits: UInt64 = 0
        for (index, name) in ruleFields.enumerated() where headers.contains(like: name) {
            bits |= 1 << UInt64(index)
        }
        return bits
    }

    /// Decides whether the proxy names itself, now that it listens at these addresses.
    func decideOnVia(_ addresses: ListenAddresses) {
        announcesProxy =
            switch rules.configuration.headers.via {
            case .on: true
            case .off: false
            case .auto:
                rules.destinations.contains {
                    addresses.mayReceive(requestsTo: $0.host, $0.port)
                }
            }
    }

    /// Asks the name servers again where the upstreams are.
    package func followNames() {
        for pool in pools { pool.followNames() }
    }

    /// Connections of this loop to the upstream.
    package var poolCounts: PoolCounts {
        pools.reduce(into: PoolCounts()) { sum, pool in
            let (open, idle, queued) = pool.counts
            sum = sum + PoolCounts(open: open, idle: idle, queued: queued)
        }
    }

    private static func warnUnpinned(_ origin: Origin, _ log: LogBuffer) {
        log.write(
            EventRecord(
                time: .now,
                level: .warning,
                event: .pool,
                message: "no certificate of the upstream's chain has a pinned key",
                facts: [("upstream", .text(origin.authority))]
            ),
            now: .now
        )
    }

    /// Sends a request through the interceptors to the upstream, for at most the time given.
    func send(
        _ request: consuming Request,
        within time: Duration,
        context: inout RequestContext
    ) async throws -> Response {
        context.setDeadline(
            ContinuousClock.now + time,
            by: TimeSetting("timeouts.total", time)
        )
        return try await chain.send(request, context: &context)
    }

    /// Retires the channel when its configuration is no longer in force: exchanges may end, then its
    /// connections close.
    package func retire() {
        for pool in pools { pool.close() }
        log.flush(now: .now)
    }
}

extension EditedFields {
    /// Those that are not known fields: whether a request has them is noted one by one.
    var rare: [HTTPFieldName] { all.filter { $0.known == nil } }
}
