public import FoundationEssentials

/// The base URL of an API: scheme, host, port and the common path of all endpoints.
///
/// For example, `https://api.example.com/v1`. The scheme is `http` or `https`, without user information,
/// query or
/// fragment. `{credential}` in the path marks the place of a `CredentialPlace.path()`. An invalid text does
/// not
/// trap; building a request from it throws `http_request_error`.
public struct BaseURL: Sendable, Hashable, ExpressibleByStringInterpolation,
    CustomStringConvertible
{
    /// The original text.
    public let text: String
    /// The scheme, host and port; `nil` if the text is not a base URL.
    public let origin: Origin?
    /// The path without a trailing slash; empty for the root.
    public let path: String

    /// Parses a base URL.
    public init(_ text: String) {
        self.text = text
        guard let (origin, path) = BaseURL.parse(text) else {
            (self.origin, self.path) = (nil, "")
            return
        }
        self.origin = origin
        self.path = path
    }

    /// Creates a base URL from Foundation's.
    public init(_ url: URL) {
        self.init(url.absoluteString)
    }

    /// Parses a base URL.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// Creates a base URL from an origin and the path of its API, with or without a leading slash.
    public init(_ origin: Origin, path: String = "") {
        // Without the slash, the path would become part of the host.
        let isApart = path.isEmpty || path.utf8.first == UInt8(ascii: "/")
        self.init(isApart ? "\(origin)\(path)" : "\(origin)/\(path)")
    }

    /// The original text without a password.
    public var description: String { Redaction.standard.malformedURL(text) }

    /// Parses bytes, not characters, because most endpoints create their base URL for each call.
    private static func parse(_ text: String) -> (Origin, String)? {
        let scheme: Origin.Scheme
        var rest = text.utf8[...]
        if starts(rest, with: "https://") {
            scheme = .https
            rest = rest.dropFirst(8)
        } else if starts(rest, with: "http://") {
            scheme = .http
            rest = rest.dropFirst(7)
        } else {
            return nil
        }
        let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        let bytes = Array(rest[..<slash])
        guard let authority = Authority(bytes.span) else { return nil }
        var path = rest[slash...]
        while path.last == UInt8(ascii: "/") { path.removeLast() }
        guard isPath(Substring(path)) else { return nil }
        return (
            Origin(scheme: scheme, host: authority.host, port: authority.port),
            String(Substring(path))
        )
    }

    /// Whether a text is a valid path; it may contain the credential marker.
    private static func isPath(_ text: Substring) -> Bool {
        guard text.utf8.contains(UInt8(ascii: "{")) else { return PercentEncoding.isPath(text) }
        return PathTemplate(String(text)).map {
            PercentEncoding.isPath($0.filled(with: "")[...])
        } ?? false
    }

    private static func starts(_ text: Substring.UTF8View, with prefix: String) -> Bool {
        var index = text.startIndex
        for byte in prefix.utf8 {
            guard index < text.endIndex, Grammar.lowercased(text[index]) == byte else {
                return false
            }
            text.formIndex(after: &index)
        }
        return true
    }
}
