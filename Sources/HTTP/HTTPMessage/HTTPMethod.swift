import NetproxyBytes

/// A request method: an open set of case-sensitive tokens (RFC 9110 §9).
public struct HTTPMethod: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The method as on the wire.
    public let rawValue: String

    /// Creates a method; returns `nil` if the text is not a token (RFC 9110 §5.6.2).
    public init?(rawValue: String) {
        guard Grammar.isToken(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    /// Creates a method from a text known to be a token.
    package init(validated rawValue: String) {
        self.rawValue = rawValue
    }

    /// Creates a method from bytes known to be a token; the common methods are not decoded.
    package init(validated bytes: Span<UInt8>) {
        // A string of up to 15 bytes is stored inline, so no registered method allocates.
        switch bytes.count {
        case 3 where bytes[0] == 0x47 && bytes[1] == 0x45 && bytes[2] == 0x54: rawValue = "GET"
        case 3 where bytes[0] == 0x50 && bytes[1] == 0x55 && bytes[2] == 0x54: rawValue = "PUT"
        case 4 where bytes[0] == 0x50 && bytes[1] == 0x4F && bytes[2] == 0x53 && bytes[3] == 0x54:
            rawValue = "POST"
        default: rawValue = bytes.string(in: 0..<bytes.count)
        }
    }

    /// GET, RFC 9110 §9.3.1.
    public static var get: HTTPMethod { HTTPMethod(validated: "GET") }
    /// HEAD, RFC 9110 §9.3.2.
    public static var head: HTTPMethod { HTTPMethod(validated: "HEAD") }
    /// POST, RFC 9110 §9.3.3.
    public static var post: HTTPMethod { HTTPMethod(validated: "POST") }
    /// PUT, RFC 9110 §9.3.4.
    public static var put: HTTPMethod { HTTPMethod(validated: "PUT") }
    /// DELETE, RFC 9110 §9.3.5.
    public static var delete: HTTPMethod { HTTPMethod(validated: "DELETE") }
    /// CONNECT, RFC 9110 §9.3.6.
    public static var connect: HTTPMethod { HTTPMethod(validated: "CONNECT") }
    /// OPTIONS, RFC 9110 §9.3.7.
    public static var options: HTTPMethod { HTTPMethod(validated: "OPTIONS") }
    /// TRACE, RFC 9110 §9.3.8.
    public static var trace: HTTPMethod { HTTPMethod(validated: "TRACE") }
    /// PATCH, RFC 5789.
    public static var patch: HTTPMethod { HTTPMethod(validated: "PATCH") }

    /// Whether repeating the request has the same effect as sending it once (RFC 9110 §9.2.2).
    ///
    /// Of the extension methods, only those that read are idempotent here: a repeated COPY or MOVE has the
    /// same effect, but a different response.
    public var isIdempotent: Bool {
        switch rawValue {
        case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE": true
        // RFC 4918 §9.1, RFC 3253 §3.6, RFC 5323 §2: calendars and address books depend on them.
        case "PROPFIND", "REPORT", "SEARCH": true
        default: false
        }
    }

    /// Whether a list of methods contains this one; GET includes HEAD, which requests less of the same (RFC
    /// 9110 §9.3.2).
    package func isAmong(_ methods: [HTTPMethod]) -> Bool {
        methods.contains(self) || self == .head && methods.contains(.get)
    }

    /// The method as on the wire.
    public var description: String { rawValue }
}
