public import FoundationEssentials

/// Where an API lives: scheme, host, port and the path that all of its endpoints share.
///
/// `https://api.example.com/v1`: `http` or `https`, no user information, query or fragment. A text
/// that is none of that is kept, and the request that is built from it throws
/// `http_request_error`: nothing traps.
public struct BaseURL: Sendable, Hashable, ExpressibleByStringInterpolation,
    CustomStringConvertible
{
    /// The text it was made from.
    public let text: String
    /// Scheme, host and port; nothing if the text is no base URL.
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

    /// Names an origin and the path below which its API lies.
    public init(_ origin: Origin, path: String = "") {
        self.init("\(origin)\(path)")
    }

    /// The text it was made from.
    public var description: String { text }

    private static func parse(_ text: String) -> (Origin, String)? {
        let scheme: Origin.Scheme
        let rest: Substring
        let lowered = text.prefix(8).lowercased()
        if lowered.hasPrefix("https://") {
            (scheme, rest) = (.https, text.dropFirst(8))
        } else if lowered.hasPrefix("http://") {
            (scheme, rest) = (.http, text.dropFirst(7))
        } else {
            return nil
        }
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        guard let authority = Authority(String(rest[..<slash])) else { return nil }
        var path = rest[slash...]
        while path.hasSuffix("/") { path.removeLast() }
        guard PercentEncoding.isPath(path) else { return nil }
        return (
            Origin(scheme: scheme, host: authority.host, port: authority.port), String(path)
        )
    }
}
