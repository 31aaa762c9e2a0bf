package import NetproxyEventIO
public import NetproxySettings
package import NetworkCore

/// The rules for opening, keeping and closing connections to an origin.
///
///     var options = UpstreamOptions(connections: 16, connectTimeout: .seconds(2))
///     options.proxyEnvironment = try ProxyEnvironment()
///     let transport = try PooledTransport(options: options)
public struct UpstreamOptions: Sendable {
    /// A version of TLS.
    public enum TLSVersion: Sendable, Hashable {
        /// RFC 5246.
        case tls12
        /// RFC 8446.
        case tls13
    }

    /// The versions of HTTP that connections may use.
    public typealias HTTPVersions = NetproxySettings.HTTPVersions

    /// The maximum duration of resolving, connecting and the TLS handshake together.
    ///
    /// Default 10 s; `nil` uses the system's limit.
    public var connectTimeout: Duration?
    /// The maximum time from the sent request to the head of the response.
    ///
    /// Default 10 minutes, like the SDKs of language models, whose responses can take that long; `nil` sets
    /// no limit. TCP detects an unreachable server within 30 s, regardless of this limit.
    public var responseTimeout: Duration?
    /// The maximum time without a byte of a body in either direction.
    ///
    /// The limit also applies to event streams and to connections that have switched to another protocol.
    /// Default 10 minutes; `nil` sets no limit.
    public var idleTimeout: Duration?
    /// The maximum number of connections, for each event loop; at least 1.
    ///
    /// Default 128.
    public var connections: Int
    /// The maximum idle time of a connection, shortened if the server announces less (`Keep-Alive: timeout`).
    ///
    /// Default 90 s.
    public var keepAlive: Duration
    /// The maximum number of requests that may wait for a connection, for each event loop.
    ///
    /// Another request fails with `connection_limit_reached`. Default `nil`: no limit.
    public var queueLength: Int?
    /// The maximum wait of a request for a connection, in addition to the request's own deadline.
    ///
    /// Default `nil`: only the deadline limits the wait.
    public var queueTimeout: Duration?
    /// A PEM file with the trusted certificates, or the PEM text itself; `nil` for the system's roots.
    public var authorities: String? {
        get { tls.authorities }
        set { tls.authorities = newValue }
    }
    /// Whether the system's roots are trusted in addition to `authorities`.
    public var addsSystemRoots: Bool {
        get { tls.systemRoots == .trusted }
        set { tls.systemRoots = newValue ? .trusted : .replaced }
    }
    /// The minimum TLS version.
    ///
    /// Default 1.2.
    public var minimumTLSVersion: TLSVersion {
        get { tls.minimum == .v1_3 ? .tls13 : .tls12 }
        set { tls.minimum = newValue == .tls13 ? .v1_3 : .v1_2 }
    }
    /// A PEM file with our own certificate chain, or the PEM text itself; requires `certificateKey`.
    public var certificate: String?
    /// A PEM file with the key of `certificate`, or the PEM text itself, without a passphrase.
    public var certificateKey: String?
    /// The accepted public keys as `sha256/BASE64`; empty accepts any chain.
    ///
    /// One certificate of the chain must have one of these keys.
    public var pins: [String] = []
    /// The server name to send and to verify instead of the origin's host.
    public var serverName: String? {
        get { tls.serverName }
        set { tls.serverName = newValue }
    }
    /// The host names or addresses to connect to instead of an origin's host, by host.
    ///
    /// TLS and the `Host` field keep the origin's name. Connections through a proxy ignore them.
    public var hostOverrides: [String: String] = [:]
    /// The demands on TLS connections, without the values of `certificate`, `certificateKey` and `pins`.
    package var tls = TLSDemands()
    /// Another proxy on the way to every origin; `nil` uses `proxyEnvironment`, or no proxy.
    public var proxy: ParentProxy?
    /// The proxies of the environment; `nil` ignores `http_proxy` and related variables.
    ///
    ///     options.proxyEnvironment = try ProxyEnvironment()
    public var proxyEnvironment: ProxyEnvironment?
    /// The versions of HTTP that connections may use.
    ///
    /// Default `automatic`.
    public var versions = HTTPVersions.automatic
    /// The path of a unix socket that replaces the server of every origin, 1 to 107 bytes.
    ///
    /// A container engine listens on such a socket, for example. Names are not resolved, and proxies are not
    /// used.
    public var unixSocket: String?

    /// The value of `Host` in requests.
    package var host = SentHost.upstream

    /// The shortest time between two PINGs on an HTTP/2 connection, as servers of gRPC permit them.
    package var pingInterval = Duration.seconds(300)
    /// The maximum wait for the acknowledgment of a PING.
    package var peerSilence = Duration.seconds(15)

    /// The names of these limits in errors.
    package var timeSettings = TimeSettings.options
    /// The source of the host names.
    package var nameSource = Resolver.Source.configuration
    /// The origin's addresses to which connections are permitted.
    package var destinations = DestinationPolicy.any

    /// Creates options; those without an argument have their default.
    ///
    /// - Parameters:
    ///   - connections: the maximum number of connections, for each event loop.
    ///   - connectTimeout: the maximum duration of resolving, connecting and the TLS handshake together.
    ///   - responseTimeout: the maximum time from the sent request to the head of the response.
    ///   - idleTimeout: the maximum time without a byte of a body in either direction.
    ///   - keepAlive: the maximum idle time of a connection.
    public init(
        connections: Int = 128,
        connectTimeout: Duration? = .seconds(10),
        responseTimeout: Duration? = .seconds(600),
        idleTimeout: Duration? = .seconds(600),
        keepAlive: Duration = .seconds(90)
    ) {
        self.connections = connections
        self.connectTimeout = connectTimeout
        self.responseTimeout = responseTimeout
        self.idleTimeout = idleTimeout
        self.keepAlive = keepAlive
    }

    /// Returns the host to connect to for an origin.
    func dialedHost(for origin: Origin) -> String {
        guard !hostOverrides.isEmpty else { return origin.host }
        return hostOverrides.first { $0.key.lowercased() == origin.host }?.value ?? origin.host
    }
}

extension UpstreamOptions {
    /// Rejects unusable options when they are set, rather than at the first request.
    ///
    /// - Throws: `proxy_internal_error` with the option, the expected value and the actual one.
    func check() throws(NetworkError) {
        guard (certificate == nil) == (certificateKey == nil) else {
            let missing = certificate == nil ? "certificate" : "certificateKey"
            throw UpstreamOptions.unusable(missing, "the file that goes with the other", "nothing")
        }
        if let path = unixSocket, SocketAddress(unixPath: path) == nil {
            throw UpstreamOptions.unusable("unixSocket", "a path of 1 to 107 bytes", path)
        }
        guard connections >= 1 else {
            throw UpstreamOptions.unusable("connections", "at least 1", "\(connections)")
        }
    }

    static func unusable(
        _ option: String,
        _ expected: String,
        _ found: String
    ) -> NetworkError {
        NetworkError(
            .internalError,
            side: .proxy,
            detail: "UpstreamOptions.\(option): expected \(expected), found '\(found)'"
        )
    }
}
