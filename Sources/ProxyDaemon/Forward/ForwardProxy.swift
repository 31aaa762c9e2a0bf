import Bytes
import EventIO
import HTTPMessage
import NetworkCore
import OriginTransport
import ProxyConfig

/// What netproxy is beside its channels: a forward proxy without any credential, for the tunnels that
/// `connect` lists and, with `unmatched: forward`, for plain HTTP requests.
///
/// One per loop. Not `Sendable`.
final class ForwardProxy {
    /// What the configuration says about it.
    struct Settings: Sendable, Equatable {
        var unmatched: ProxyConfiguration.Unmatched
        var connect: [ProxyConfiguration.ConnectPattern]
        /// Where an app may lead that names the host itself.
        var destinations: DestinationPolicy
    }

    /// How long nothing may move in a tunnel of CONNECT: 10 minutes, like nginx's stream proxy.
    static let tunnelIdle = Duration.seconds(600)
    private static let connectTimeout = Duration.seconds(5)
    /// The most origins of which connections are kept.
    private static let poolLimit = 256

    let settings: Settings
    private let loop: EventLoop
    private var pools: [Origin: OriginPool] = [:]

    init(_ settings: Settings, on loop: EventLoop) {
        self.settings = settings
        self.loop = loop
    }

    // MARK: - CONNECT

    /// Opens the far end of a tunnel.
    ///
    /// - Parameters:
    ///   - authority: where to.
    ///   - hasChannel: whether a channel forwards there, with what a tunnel would lack.
    ///   - context: learns of the attempt.
    /// - Returns: the connection.
    /// - Throws: `http_request_denied` for a destination that `connect` does not list, and what
    ///   dialling throws.
    func tunnel(
        to authority: Authority,
        hasChannel: Bool,
        _ context: inout RequestContext
    ) async throws(NetworkError) -> SocketStream {
        guard let port = authority.port, let policy = policy(for: authority.host, port) else {
            let advice =
                hasChannel
                ? "a tunnel gets no credential: ask for http:// in place of https://, and the "
                    + "channel of that upstream forwards it"
                : "list it in connect"
            throw NetworkError(
                .httpRequestDenied,
                side: .downstream,
                detail: "CONNECT to \(authority) is not allowed; \(advice)",
                status: 403
            )
        }
        context.attempts = 1
        let socket = try await HostDialer.connect(
            to: authority.host,
            port: port,
            admitting: policy,
            on: loop,
            until: loop.deadline(after: ForwardProxy.connectTimeout),
            timings: &context.timings
        )
        context.upstreamAddress = socket.peer.description
        return SocketStream(
            socket,
            buffer: ReadBuffer(),
            side: .upstream,
            idleTimeout: ForwardProxy.tunnelIdle,
            onClose: { socket.close() }
        )
    }

    /// Where a tunnel to the host may lead; nothing if no pattern matches.
    ///
    /// An address that a pattern names is dialled whatever it is. A name that a pattern spells out may
    /// be one of the site; what only a wildcard covers must be on the Internet.
    func policy(for host: String, _ port: UInt16) -> DestinationPolicy? {
        let patterns = settings.connect.filter { $0.port == Int(port) }
        let isAddress = SocketAddress(ip: host, port: port) != nil
        if patterns.contains(where: { $0.host == host }) {
            return isAddress ? .any : .anyButLink
        }
        return patterns.contains { HostPattern.matches($0.host, host) }
            ? settings.destinations : nil
    }

    // MARK: - Plain requests

    /// Whether a request that no channel claims may be sent on.
    func forwards(_ scheme: Origin.Scheme) -> Bool {
        settings.unmatched == .forward && scheme == .http
    }

    /// Sends a request to where it says, as it is.
    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        try await LoopTransport(pool(for: request.origin)).send(request, context: &context)
    }

    private func pool(for origin: Origin) throws -> OriginPool {
        if let pool = pools[origin] { return pool }
        if pools.count >= ForwardProxy.poolLimit {
            for (origin, pool) in pools where pool.counts.open == pool.counts.idle {
                pool.close()
                pools[origin] = nil
            }
        }
        guard pools.count < ForwardProxy.poolLimit else {
            throw NetworkError(
                .connectionLimitReached,
                side: .proxy,
                detail: "requests to \(ForwardProxy.poolLimit) other hosts are under way"
            )
        }
        var options = UpstreamOptions()
        options.connectTimeout = ForwardProxy.connectTimeout
        options.connections = 32
        options.keepAlive = .seconds(15)
        options.destinations = settings.destinations
        let pool = OriginPool(
            origin,
            options: options,
            tls: nil,
            on: loop,
            followsRelay: true
        )
        pools[origin] = pool
        return pool
    }

    /// Its configuration is no longer in force: exchanges and tunnels end by themselves.
    func retire() {
        for pool in pools.values { pool.close() }
        pools = [:]
    }
}
