public import NetworkCore

/// The URL of an endpoint of an authorization server, parsed strictly.
public struct ServerEndpoint: Sendable, Hashable, CustomStringConvertible {
    /// Scheme, host and port.
    public var origin: Origin
    /// Path and query, in origin-form; a query is kept (RFC 6749 §3.1, §3.2).
    public var target: String
    /// A literal that is not such a URL; nothing is sent to it.
    let malformed: String?

    /// Names an endpoint.
    public init(origin: Origin, target: String) {
        self.origin = origin
        self.target = target
        malformed = nil
    }

    /// Parses an `http` or `https` URL; `nil` if it has user information, a fragment, or a byte that is
    /// not allowed in a URL.
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

    /// The URL; a malformed literal is shown without its password.
    public var description: String {
        malformed.map(Redaction.standard.malformedURL) ?? "\(origin)\(target)"
    }

    /// Whether secrets may be sent there: over TLS, or within this machine.
    public var isPrivate: Bool {
        malformed == nil && (origin.scheme == .https || origin.isLoopback)
    }

    /// Whether `http` is accepted for hosts other than this machine.
    public enum PlainHTTP: Sendable {
        case refused
        case accepted
    }

    /// Whether the endpoint is private, or need not be.
    func isAcceptable(_ plainHTTP: PlainHTTP) -> Bool { isPrivate || plainHTTP == .accepted }

    /// The URL with more parameters in its query.
    func url(adding parameters: [FormParameter]) -> String {
        let separator = target.contains("?") ? (target.hasSuffix("?") ? "" : "&") : "?"
        return description + separator + FormEncoding.encode(parameters)
    }
}

extension ServerEndpoint: ExpressibleByStringLiteral {
    /// Parses an `http` or `https` URL without user information and fragment.
    ///
    /// A malformed literal does not trap; as with a `BaseURL`, requests to it fail. For text that is not
    /// a literal, use `init(_:)`, which returns `nil` for it.
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
