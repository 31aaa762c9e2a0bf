import EventIO
import HTTP1
import HTTPMessage
import NetworkCore
import OriginTransport
import ProxyConfig
import RequestLog

/// A channel on one loop: its chain, its pool, its log buffer.
///
/// Not `Sendable`.
final class Channel {
    let shared: ChannelShared
    let log: LogBuffer
    /// What it did on this loop.
    var counters = ChannelCounters()
    /// Fields that the channel's rules name and the table of known fields does not, at most 64.
    private let ruleFields: [HTTPFieldName]
    private let pool: OriginPool
    private let chain: RequestChain

    init(_ shared: ChannelShared, on loop: EventLoop, loops: Int) {
        self.shared = shared
        log = LogBuffer(shared.log)
        ruleFields = Array(shared.configuration.headers.rareNames.prefix(64))
        pool = OriginPool(
            shared.origin,
            options: shared.options(loops: loops),
            tls: shared.tls,
            on: loop
        )
        chain = RequestChain(shared.stack.interceptors, transport: LoopTransport(pool))
    }

    var name: String { shared.name }
    var origin: Origin { shared.origin }
    var access: AccessPolicy { shared.access }
    var idleTimeout: Duration? { shared.idleTimeout }
    var totalTimeout: Duration? { shared.totalTimeout }
    var credentialFields: [HTTPFieldName] { shared.credentialFields }
    var loggedHeaders: [HTTPFieldName] { shared.loggedHeaders }

    /// Which of the channel's rare fields a request has, one bit each.
    func rareFields(in headers: HTTPHeaders) -> UInt64 {
        var bits: UInt64 = 0
        for (index, name) in ruleFields.enumerated() where headers.contains(name) {
            bits |= 1 << UInt64(index)
        }
        return bits
    }

    /// Connections of this loop to the upstream.
    var poolCounts: (open: Int, idle: Int, queued: Int) { pool.counts }

    /// Sends a request through the interceptors to the upstream.
    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        guard let deadline = context.deadline else {
            return try await chain.send(request, context: &context)
        }
        let (chain, started) = (chain, context)
        let (response, ended) = try await Deadline.run(on: pool.loop, until: deadline) {
            () async throws -> (Response, RequestContext) in
            var context = started
            let response = try await chain.send(request, context: &context)
            return (response, context)
        }
        context = ended
        guard case .stream(let source, let length) = response.body else { return response }
        var limited = response
        limited.body = .stream(
            DeadlineBody(source, until: deadline, on: pool.loop),
            length: length
        )
        return limited
    }

    /// Refuses TRACE where a credential goes with each request: the answer would show it to the app
    /// (RFC 9110 §9.3.8).
    func checkTrace(_ method: HTTPMethod) throws(NetworkError) {
        guard method == .trace, shared.authorizer != nil else { return }
        throw NetworkError(
            .httpRequestDenied,
            side: .downstream,
            detail: "TRACE would show the channel's credential",
            status: 403
        )
    }

    /// Its configuration is no longer in force: exchanges end, then its connections do.
    func retire() {
        pool.close()
        log.flush(now: .now)
    }
}

/// The channels of a configuration on one loop.
struct ChannelTable {
    let router: Router
    let channels: [Channel]
    /// What no channel claims is logged here.
    let ownLog: LogBuffer
    /// What no channel claims goes through here, if anywhere.
    let forward: ForwardProxy

    /// Whether the request's host is one that a channel claims.
    func isChannelHost(_ head: RequestHead, _ app: DownstreamConnection) -> Bool {
        head.host.map { router.isChannelHost($0.host) } ?? false
    }
}
