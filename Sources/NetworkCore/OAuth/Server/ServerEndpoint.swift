/// One endpoint of an authorization server, taken apart without repairing anything.
public struct ServerEndpoint: Sendable, Hashable, CustomStringConvertible {
    /// Scheme, host and port.
    public var origin: Origin
    /// Path and query, in origin-form; a query is kept (RFC 6749 §3.1, §3.2).
    public var target: String

    /// Names an endpoint.
    public init(origin: Origin, target: String) {
        self.origin = origin
        self.target = target
    }

    /// Reads an `http` or `https` URL; nothing if it has user information, a fragment, or a byte
    /// that belongs into no URL.
    public init?(_ text: String) {
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !text.contains("#"),
            let separator = text.firstRange(of: "://"),
            let scheme = Origin.Scheme(rawValue: text[..<separator.lowerBound].lowercased())
        else { return nil }
        let rest = text[separator.upperBound...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        guard let authority = Authority(String(rest[..<end])) else { return nil }
        origin = Origin(scheme: scheme, host: authority.host, port: authority.port)
        let path = rest[end...]
        target = path.hasPrefix("/") ? String(path) : "/" + path
    }

    /// The endpoint as a URL.
    public var description: String { "\(origin)\(target)" }

    /// Whether secrets may be sent there: over TLS, or without leaving the machine.
    public var isPrivate: Bool { origin.scheme == .https || origin.isLoopback }

    /// The URL with more parameters in its query.
    func url(adding parameters: [FormParameter]) -> String {
        let separator = target.contains("?") ? (target.hasSuffix("?") ? "" : "&") : "?"
        return description + separator + FormEncoding.encode(parameters)
    }
}
