import NetproxyBytes
package import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTPMessage
import NetworkCore
package import OriginTransport

/// A forward proxy without credentials, for requests that no channel claims: the tunnels that `connect`
/// lists and, with `unmatched: forward`, plain HTTP requests.
///
/// One per loop. Not `Sendable`.
package final class ForwardProxy {
    /// The part of the configuration that applies to the forward proxy.
    package struct Settings: Sendable, Equatable {
        var unmatched: ProxyConfiguration.Unmatched
        var connect: [ProxyConfiguration.ConnectPattern]
        /// The addresses to which it may connect for a host named by a client.
        var destinations: DestinationPolicy

        package init(
            unmatched: ProxyConfiguration.Unmatched,
            connect: [ProxyConfiguration.ConnectPattern],
            destinations: DestinationPolicy
        ) {
            (self.unmatched, self.connect, self.destinations) = (unmatched, connect, destinations)
        }
    }

    /// The time for which a CONNECT tunnel may be idle: 10 minutes, like nginx's stream proxy.
    static let tunnelIdle = TimeSetting("its own limit for tunnels", .seconds(600))
    private static let connectTimeout = TimeSetting("its own limit for tunnels", .seconds(10))
    /// The longest time without progress between a client and netproxy; the same as toward the origin.
    static let idleTimeout = UpstreamOptions().idleTimeout
    /// The largest number of origins with pooled connections.
    private static let poolLimit = 256

    let settings: Settings
    private let loop: EventLoop
    private var pools: [Origin: OriginPool] = [:]

    init(_ settings: Settings, on loop: EventLoop) {
        self.settings = settings
        self.loop = loop
    }

    // MARK: - CONNECT

    /// Opens the upstream end of a tunnel.
    ///
    /// - Parameters:
    ///   - authority: the destination.
    ///   - hasChannel: whether a channel forwards to the destination, with a credential that a tunnel
    ///     lacks.
    ///   - context: records the attempt.
    /// - Returns: the connection.
    /// - Throws: `http_request_denied` for a destination that `connect` does not list, and the errors of
    ///   dialing.
    func tunnel(
        to authority: Authority,
        hasChannel: Bool,
        _ context: inout RequestContext
    ) async throws(NetworkError) -> SocketStream {
        guard let port = authority.port, let policy = policy(for: authority.host, port) else {
            let advice =
                hasChannel
                ? "netproxy cannot add a credential inside a tunnel: use http:// instead of https://, "
                    + "and the channel of that upstream forwards the request"
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
            from: isNamed(authority.host, port) ? .configuration : .app,
            within: ForwardProxy.connectTimeout,
            on: loop,
            until: loop.deadline(after: ForwardProxy.connectTimeout.value),
            timings: &context.timings
        )
        context.upstreamAddress = socket.peer.description
        socket.watchPeer(.delivery)
        return SocketStream(
            socket,
            buffer: ReadBuffer(),
            side: .upstream,
            idleTimeout: ForwardProxy.tunnelIdle.value,
            onClose: { socket.close() }
        )
    }

    /// Returns the addresses to which a tunnel to the host may connect; `nil` if no pattern matches.
    ///
    /// An address listed as such is always allowed. A host listed by its full name may be local, but one
    /// that matches only a wildcard must be on the Internet.
    func policy(for host: String, _ port: UInt16) -> DestinationPolicy? {
        let patterns = settings.connect.filter { $0.port == Int(port) }
        let isAddress = SocketAddress(ip: host, port: port) != nil
        if patterns.contains(where: { $0.host == host }) {
            return isAddress ? .any : .anyButLink
        }
        return patterns.contains { HostPattern.matches($0.host, host) }
            ? settings.destinations : nil
    }

    /// Whether a pattern is the full name of the host.
    private func isNamed(_ host: String, _ port: UInt16) -> Bool {
        settings.connect.contains { $0.port == Int(port) && $0.host == host }
    }

    // MARK: - Plain requests

    /// Whether requests without a channel are forwarded.
    func forwards(_ scheme: Origin.Scheme) -> Bool {
        settings.unmatched == .forward && scheme == .http
    }

    /// Sends a request to its own origin, unchanged.
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
                detail: "requests to \(ForwardProxy.poolLimit) other hosts are in progress"
            )
        }
        var options = UpstreamOptions()
        options.timeSettings = .fixed("requests without a channel")
        options.nameSource = .app
        options.connections = 32
        options.keepAlive = .seconds(15)
        options.destinations = settings.destinations
        let pool = OriginPool(
            origin,
            options: options,
            tls: nil,
            on: loop,
            serving: .connections
        )
        pools[origin] = pool
        return pool
    }

    /// Closes idle connections when the configuration is replaced; exchanges and tunnels continue.
    package func retire() {
        for pool in pools.values { pool.close() }
        pools = [:]
    }
}
