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

    /// The URL with more parameters in its query, which replace those of the same name.
    func url(adding parameters: [FormParameter]) -> String {
        let endpoint = without(parameters)
        let target = endpoint.target
        let separator = target.contains("?") ? (target.hasSuffix("?") ? "" : "&") : "?"
        return endpoint.description + separator + FormEncoding.encode(parameters)
    }

    /// Returns the endpoint without the parameters in its query that a request to it contains itself.
    ///
    /// No parameter may occur more than once (RFC 6749 §3.1, §3.2), and the rest of the query stays.
    func without(_ parameters: [FormParameter]) -> ServerEndpoint {
        guard let mark = target.firstIndex(of: "?") else { return self }
        let names = Set(parameters.filter { !$0.value.isEmpty }.map(\.name))
        let parts = target[target.index(after: mark)...]
            .split(separator: "&", omittingEmptySubsequences: false)
        let kept = parts.filter { part in
            FormDecoding.decode(String(part)).allSatisfy { !names.contains($0.name) }
        }
        guard kept.count < parts.count else { return self }
        var endpoint = self
        let query = kept.joined(separator: "&")
        endpoint.target = target[..<mark] + (query.isEmpty ? "" : "?" + query)
        return endpoint
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
