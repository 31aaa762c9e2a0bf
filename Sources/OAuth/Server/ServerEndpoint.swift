public import NetworkCore

/// One endpoint of an authorization server, taken apart without repairing anything.
public struct ServerEndpoint: Sendable, Hashable, CustomStringConvertible {
    /// Scheme, host and port.
    public var origin: Origin
    /// Path and query, in origin-form; a query is kept (RFC 6749 §3.1, §3.2).
    public var target: String
    /// A literal that is no such URL; nothing is sent to it.
    let malformed: String?

    /// Names an endpoint.
    public init(origin: Origin, target: String) {
        self.origin = origin
        self.target = target
        malformed = nil
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
        malformed = nil
    }

    /// The endpoint as a URL; a literal that is none without a password in it.
    public var description: String {
        malformed.map(Redaction.standard.malformedURL) ?? "\(origin)\(target)"
    }

    /// Whether secrets may be sent there: over TLS, or without leaving the machine.
    public var isPrivate: Bool {
        malformed == nil && (origin.scheme == .https || origin.isLoopback)
    }

    /// The URL with more parameters in its query.
    func url(adding parameters: [FormParameter]) -> String {
        let separator = target.contains("?") ? (target.hasSuffix("?") ? "" : "&") : "?"
        return description + separator + FormEncoding.encode(parameters)
    }
}

extension ServerEndpoint: ExpressibleByStringLiteral {
    /// Reads an `http` or `https` URL without user information and fragment.
    ///
    /// As with a `BaseURL`, a literal that is none is kept, and what would be sent there fails:
    /// nothing traps. A text from elsewhere is read by `init(_:)`, which gives nothing for it.
    public init(stringLiteral value: String) {
        if let endpoint = ServerEndpoint(value) {
            self = endpoint
        } else {
            origin = Origin(scheme: .https, host: "")
            target = "/"
            malformed = value
        }
    }
}
