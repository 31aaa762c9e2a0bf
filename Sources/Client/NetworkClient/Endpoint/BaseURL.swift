public import FoundationEssentials

/// The base URL of an API: scheme, host, port and the path that all of its endpoints share.
///
/// `https://api.example.com/v1`: `{credential}` in the path is where a `CredentialPlace.path()` puts the
/// credential; otherwise `http` or `https`, no user information, query or fragment. An
/// invalid text is kept, and building a request from it throws `http_request_error`: no text traps.
public struct BaseURL: Sendable, Hashable, ExpressibleByStringInterpolation,
    CustomStringConvertible
{
    /// The text it was made from.
    public let text: String
    /// Scheme, host and port; `nil` if the text is not a base URL.
    public let origin: Origin?
    /// The path without the slash at its end; empty for the root.
    public let path: String

    /// Reads a base URL.
    public init(_ text: String) {
        self.text = text
        guard let (origin, path) = BaseURL.parse(text) else {
            (self.origin, self.path) = (nil, "")
            return
        }
        self.origin = origin
        self.path = path
    }

    /// Reads Foundation's form of a URL.
    public init(_ url: URL) {
        self.init(url.absoluteString)
    }

    /// Reads a base URL.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// Names an origin and the path below which its API lies, with or without a slash in front.
    public init(_ origin: Origin, path: String = "") {
        // Without the slash a path would go on the name of the host.
        let isApart = path.isEmpty || path.utf8.first == UInt8(ascii: "/")
        self.init(isApart ? "\(origin)\(path)" : "\(origin)/\(path)")
    }

    /// The text it was made from, without a password in it.
    public var description: String { Redaction.standard.malformedURL(text) }

    /// Bytes, not characters: most endpoints make their base URL for each call.
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

    /// Whether a text is a path as it stands; it may have a place for the credential.
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
