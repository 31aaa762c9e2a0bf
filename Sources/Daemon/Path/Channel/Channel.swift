import NetproxyConfig
package import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
package import NetproxyRequestLog
import NetworkCore
import OriginTransport

/// A channel on one loop: its chain, its pools and its log buffer.
///
/// Not `Sendable`.
package final class Channel {
    package let rules: ChannelRules
    package let log: LogBuffer
    /// The counters of the channel on this loop.
    package let tally: ChannelTally
    /// The fields named by the channel's rules but not by the table of known fields; at most 64.
    private let ruleFields: [HTTPFieldName]
    private let loop: EventLoop
    /// The pools, one for each upstream.
    private let pools: [OriginPool]
    /// The interceptors followed by the upstream.
    let chain: RequestChain
    /// Whether the proxy names itself in `Via`.
    private(set) var announcesProxy = false
    /// Whether `Via` also depends on whether a netproxy has sent the request before.
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

    /// Returns the channel's rare fields in a request, one bit each.
    func rareFields(in headers: HTTPHeaders) -> UInt64 {
        guard !ruleFields.isEmpty else { return 0 }
        var bits: UInt64 = 0
        for (index, name) in ruleFields.enumerated() where headers.contains(like: name) {
            bits |= 1 << UInt64(index)
        }
        return bits
    }

    /// Decides whether the proxy names itself, given its listen addresses.
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

    /// Resolves the names of the upstreams again.
    package func followNames() {
        for pool in pools { pool.followNames() }
    }

    /// The number of this loop's connections to the upstreams.
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

    /// Sends a request through the interceptors to the upstream, with a deadline for the whole exchange.
    // Never inlined: few channels have the deadline, and its instant would enlarge the frame of every request.
    @inline(never)
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

    /// Retires the channel after its configuration is replaced: exchanges may finish, then its connections
    /// close.
    package func retire() {
        for pool in pools { pool.close() }
        log.flush(now: .now)
    }
}

extension EditedFields {
    /// The fields outside the table of known fields; each needs a lookup of its own.
    var rare: [HTTPFieldName] { all.filter { $0.known == nil } }
}
