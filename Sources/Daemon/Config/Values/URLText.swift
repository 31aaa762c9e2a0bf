import NetproxyHTTPMessage

/// The parts of an `http` or `https` URL, parsed strictly.
struct URLText {
    let origin: Origin
    let path: String
    let query: String?

    /// The reason for an invalid URL.
    ///
    /// The messages never repeat the text: it may contain a password, which must not reach a terminal or a
    /// log.
    enum Fault: String, Error {
        case scheme = "expected a URL that begins with https:// or http://"
        // The message names both keys: under auth, a proxy's password would be sent to the API.
        case userInformation =
            "a URL must not carry a user name or password; they go under auth, a proxy's under proxy"
        case authority = "expected a host, with or without a port, after the scheme"
        case variable = "variables such as ${NAME} are not replaced; write the value"
        case query = "a URL of an upstream must not have a query"
        case fragment = "a URL must not have a fragment"
        case bytes = "a URL must not contain spaces, control bytes or characters outside ASCII"
        case encoding =
            "a URL must not contain characters that must be percent-encoded, or a % without two digits"
        case marker = "{credential} stands once at most, and only in the path"
        case dotSegment = "a URL must not contain . or .. segments"
    }

    init(_ text: String) throws(Fault) {
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw .bytes }
        guard let separator = text.firstRange(of: "://"),
            let scheme = Origin.Scheme(rawValue: text[..<separator.lowerBound].lowercased())
        else { throw .scheme }
        let rest = text[separator.upperBound...]
        guard !rest.contains("${") else { throw .variable }
        guard !rest.contains("#") else { throw .fragment }
        let authorityEnd = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        guard !rest[..<authorityEnd].contains("@") else { throw .userInformation }
        guard let authority = HostText.authority(rest[..<authorityEnd]) else { throw .authority }
        origin = Origin(scheme: scheme, host: authority.host, port: authority.port)
        let target = rest[authorityEnd...]
        guard Self.isEncoded(target) else { throw .encoding }
        let pathEnd = target.firstIndex(of: "?") ?? target.endIndex
        path = String(target[..<pathEnd])
        query = pathEnd == target.endIndex ? nil : String(target[target.index(after: pathEnd)...])
    }

    /// Whether path and query have no characters that require percent-encoding (RFC 3986 §3.3, §3.4).
    private static func isEncoded(_ target: Substring) -> Bool {
        var rest = target.utf8
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst(), let low = rest.popFirst(),
                    Grammar.hexValue(high) != nil, Grammar.hexValue(low) != nil
                else { return false }
            case UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
                UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"),
                UInt8(ascii: "}"):
                return false
            default: break
            }
        }
        return true
    }

    /// Whether a segment is `.` or `..`, literal or percent-encoded.
    static func isDotSegment(_ segment: some StringProtocol) -> Bool {
        let plain = segment.lowercased().replacing("%2e", with: ".")
        return plain == "." || plain == ".."
    }
}
