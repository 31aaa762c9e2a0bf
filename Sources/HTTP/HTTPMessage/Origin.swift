/// The scheme, host and port of an authoritative server (RFC 9110 §4.3.1).
public struct Origin: Sendable, Hashable, CustomStringConvertible {
    /// The supported schemes.
    public enum Scheme: String, Sendable, Hashable {
        /// Without encryption.
        case http
        /// Over TLS.
        case https

        /// The port for URIs without one: 80 or 443.
        public var defaultPort: UInt16 { self == .http ? 80 : 443 }
    }

    /// The scheme.
    public let scheme: Scheme
    /// A registered name in lowercase, or an IP address; an IPv6 address without brackets.
    public let host: String
    /// The TCP port.
    public let port: UInt16
    /// `host` or `host:port`, as in the `Host` field; the default port is omitted.
    public let authority: String

    /// Creates an origin; `port` defaults to that of the scheme.
    public init(scheme: Scheme, host: String, port: UInt16? = nil) {
        self.scheme = scheme
        self.host = host.lowercased()
        self.port = port ?? scheme.defaultPort
        let name = Authority.bracketed(self.host)
        authority = self.port == scheme.defaultPort ? name : "\(name):\(self.port)"
    }

    /// Whether a connection to the host cannot leave the machine: `localhost`, a name below it (RFC 6761
    /// §6.3), or a loopback address.
    public var isLoopback: Bool { Origin.isLoopback(host) }

    /// Whether a connection to the host cannot leave the machine.
    ///
    /// The host is a name in lowercase, or an address without brackets.
    package static func isLoopback(_ host: String) -> Bool {
        IPAddress(host)?.isLoopback ?? (host == "localhost" || host.hasSuffix(".localhost"))
    }

    /// Whether the port is the scheme's default.
    package var hasDefaultPort: Bool { port == scheme.defaultPort }

    /// The origin as a URI without a path.
    public var description: String { "\(scheme.rawValue)://\(authority)" }
}
