import NetproxyBytes

/// The second word of a request line, in one of its four forms (RFC 9112 §3.2).
public enum RequestTarget: Sendable, Hashable, CustomStringConvertible {
    /// Path and query, unchanged: `/orders?x=1`.
    case origin(String)
    /// An absolute URI: scheme, authority, and path and query.
    ///
    /// Path and query are unchanged, except that an empty path becomes `/` (RFC 9110 §4.2.3), or `*` for
    /// OPTIONS without a query (RFC 9112 §3.2.4).
    indirect case absolute(Origin.Scheme, Authority, String)
    /// Host and port of a CONNECT request.
    indirect case authority(Authority)
    /// The `*` of OPTIONS.
    case asterisk

    /// Path and query; `nil` for the other forms.
    public var pathAndQuery: String? {
        switch self {
        case .origin(let text), .absolute(_, _, let text): text
        case .authority, .asterisk: nil
        }
    }

    /// The target as on the wire.
    public var description: String {
        switch self {
        case .origin(let text): text
        case .absolute(let scheme, let authority, let text):
            "\(scheme.rawValue)://\(authority)\(text == "*" ? "" : text)"
        case .authority(let authority): "\(authority)"
        case .asterisk: "*"
        }
    }

    /// Parses the bytes between the two spaces of a request line.
    ///
    /// Returns `nil` if the bytes are malformed or the form is not allowed for the method.
    ///
    /// A target consists of visible ASCII without `#`, or UTF-8, which curl and others send as typed. UTF-8
    /// bytes are percent-encoded here (RFC 3987 §3.1), so that no later code has to handle them. In the path,
    /// `%` must be followed by two hexadecimal digits (RFC 3986 §2.1); otherwise the origin would have to
    /// guess the requested resource. A query is forwarded unchanged, as in nginx and HAProxy, because many
    /// clients send a bare `%` in it. `%00` is refused in both, because it ends a string in C.
    package init?(_ bytes: Span<UInt8>, for method: HTTPMethod) {
        guard !bytes.isEmpty else { return nil }
        guard Grammar.isTarget(bytes) else {
            guard let encoded = RequestTarget.encodingUTF8(bytes) else { return nil }
            self.init(encoded.span, for: method)
            return
        }
        guard RequestTarget.hasValidEscapes(bytes) else { return nil }
        if method == .connect {
            // RFC 9110 §9.3.6: CONNECT has no default port.
            guard let authority = Authority(bytes), authority.port != nil else { return nil }
            self = .authority(authority)
        } else if bytes[0] == UInt8(ascii: "/") {
            self = .origin(bytes.string(in: 0..<bytes.count))
        } else if bytes.count == 1, bytes[0] == UInt8(ascii: "*") {
            guard method == .options else { return nil }
            self = .asterisk
        } else {
            self.init(absolute: bytes, for: method)
        }
    }

    private init?(absolute bytes: Span<UInt8>, for method: HTTPMethod) {
        let scheme: Origin.Scheme
        let start: Int
        if RequestTarget.hasPrefix("http://", bytes) {
            (scheme, start) = (.http, 7)
        } else if RequestTarget.hasPrefix("https://", bytes) {
            (scheme, start) = (.https, 8)
        } else {
            return nil
        }
        var end = start
        while end < bytes.count, bytes[end] != UInt8(ascii: "/"), bytes[end] != UInt8(ascii: "?") {
            end += 1
        }
        guard let authority = Authority(bytes.extracting(start..<end)) else { return nil }
        let rest = bytes.string(in: end..<bytes.count)
        if end == bytes.count {
            self = .absolute(scheme, authority, method == .options ? "*" : "/")
        } else {
            self = .absolute(scheme, authority, bytes[end] == UInt8(ascii: "?") ? "/" + rest : rest)
        }
    }

    /// Returns the bytes with non-ASCII bytes percent-encoded.
    ///
    /// Returns `nil` if the bytes are not UTF-8, or are not a target for another reason.
    private static func encodingUTF8(_ bytes: Span<UInt8>) -> [UInt8]? {
        guard String(validating: bytes.array, as: UTF8.self) != nil else { return nil }
        var encoded: [UInt8] = []
        encoded.reserveCapacity(bytes.count * 2)
        for index in bytes.indices {
            let byte = bytes[index]
            if byte >= 0x80 {
                encoded.append(UInt8(ascii: "%"))
                for half in [byte >> 4, byte & 15] {
                    encoded.append(half < 10 ? half + UInt8(ascii: "0") : half + 0x37)
                }
            } else if Grammar.isTargetByte(byte) {
                encoded.append(byte)
            } else {
                return nil
            }
        }
        return encoded
    }

    /// Whether the bytes can be a target of any form.
    package static func isWellFormed(_ bytes: Span<UInt8>) -> Bool {
        Grammar.isTarget(bytes) && hasValidEscapes(bytes)
    }

    private static func hasValidEscapes(_ bytes: Span<UInt8>) -> Bool {
        var start = 0
        // The start of the query, searched for once and only if necessary.
        var query: Int?
        while let percent = bytes.firstIndex(of: UInt8(ascii: "%"), from: start) {
            if percent + 2 < bytes.count, let high = Grammar.hexValue(bytes[percent + 1]),
                let low = Grammar.hexValue(bytes[percent + 2])
            {
                guard high | low != 0 else { return false }
                start = percent + 3
            } else {
                let mark = query ?? bytes.firstIndex(of: UInt8(ascii: "?"), from: 0) ?? bytes.count
                guard percent > mark else { return false }
                query = mark
                start = percent + 1
            }
        }
        return true
    }

    /// Whether the bytes begin with a lowercase text, ignoring case.
    private static func hasPrefix(_ prefix: String, _ bytes: Span<UInt8>) -> Bool {
        let text = prefix.utf8
        guard bytes.count >= text.count else { return false }
        var index = 0
        for byte in text {
            guard Grammar.lowercased(bytes[index]) == byte else { return false }
            index += 1
        }
        return true
    }
}
