import NetproxyBytes

/// Host and port, as in `Host` and an absolute request target (RFC 9110 §7.2), parsed strictly.
///
/// The grammar is narrower than RFC 3986 §3.2.2: a registered name consists of letters, digits and `-._~`.
/// Sub-delimiters and percent-encoding never name an Internet host, and `Host: a,b` must be refused.
public struct Authority: Sendable, Hashable, CustomStringConvertible {
    /// The name in lowercase, or an IP address; IPv6 without brackets, in the form of RFC 5952.
    public let host: String
    /// The port, if the text contains one.
    public let port: UInt16?
    /// Whether the host is an IPv4 or IPv6 address.
    public let isIPLiteral: Bool

    /// Parses `host`, `host:port`, `[v6]` or `[v6]:port`; returns `nil` for anything else, including
    /// userinfo.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        self.init(bytes.span)
    }

    /// Parses `host`, `host:port`, `[v6]` or `[v6]:port`; returns `nil` for anything else, including
    /// userinfo.
    package init?(_ bytes: Span<UInt8>) {
        guard !bytes.isEmpty else { return nil }
        let hostEnd: Int
        if bytes[0] == UInt8(ascii: "[") {
            guard let close = bytes.firstIndex(of: UInt8(ascii: "]"), from: 1),
                let address = IPv6Address(bytes.extracting(1..<close))
            else { return nil }
            host = address.description
            isIPLiteral = true
            hostEnd = close + 1
        } else {
            hostEnd = bytes.firstIndex(of: UInt8(ascii: ":"), from: 0) ?? bytes.count
            guard let name = Authority.name(bytes.extracting(0..<hostEnd)) else { return nil }
            (host, isIPLiteral) = name
        }
        guard hostEnd < bytes.count else {
            port = nil
            return
        }
        guard bytes[hostEnd] == UInt8(ascii: ":"),
            let number = Authority.port(bytes.extracting((hostEnd + 1)..<bytes.count))
        else { return nil }
        port = number
    }

    /// Whether both name the same host and port; `scheme` supplies a missing port.
    public func matches(_ other: Authority, scheme: Origin.Scheme) -> Bool {
        host == other.host
            && (port ?? scheme.defaultPort) == (other.port ?? scheme.defaultPort)
    }

    /// Whether browsers treat the host as this machine: `localhost`, a name below it, 127.0.0.0/8 or `::1`.
    ///
    /// Such an origin is "potentially trustworthy" (W3C Secure Contexts §3.1), so browsers send
    /// `Sec-Fetch-Site`. `0.0.0.0`, `::` and IPv4-mapped addresses also reach this machine, but browsers do
    /// not trust them.
    package var isLoopbackName: Bool {
        guard isIPLiteral else { return host == "localhost" || host.hasSuffix(".localhost") }
        switch IPAddress(host) {
        case .v4(let octets)?: return octets >> 24 == 127
        case .v6(let bits)?: return bits == 1
        case nil: return false
        }
    }

    /// Whether the host is `0.0.0.0`, `::` or an IPv4-mapped address.
    ///
    /// No program needs these alternative spellings, and a web page can use them to hide the source of a
    /// request.
    package var isDisguisedAddress: Bool {
        guard isIPLiteral else { return false }
        switch IPAddress(host) {
        case .v4(let octets)?: return octets == 0
        case .v6(let bits)?: return bits == 0 || bits >> 32 == 0xFFFF
        case nil: return false
        }
    }

    /// The authority as in a `Host` field.
    public var description: String {
        let name = isIPLiteral ? Authority.bracketed(host) : host
        return port.map { "\(name):\($0)" } ?? name
    }

    /// Returns the host as written before a port: an IPv6 address in brackets (RFC 3986 §3.2.2).
    package static func bracketed(_ host: String) -> String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    }

    private static func name(_ bytes: Span<UInt8>) -> (host: String, isIPLiteral: Bool)? {
        guard !bytes.isEmpty, bytes.count <= 255 else { return nil }
        var hasUpper = false
        var labelStart = 0
        var lastLabel = 0..<0
        for index in bytes.indices {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"):
                break
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): hasUpper = true
            case UInt8(ascii: "."):
                guard index > labelStart else { return nil }
                lastLabel = labelStart..<index
                labelStart = index + 1
            default: return nil
            }
        }
        if labelStart < bytes.count { lastLabel = labelStart..<bytes.count }
        if IPv4Address.isValid(bytes) { return (bytes.string(in: 0..<bytes.count), true) }
        // Other spellings that resolvers treat as an address (127.1, 0x7f.1, 127.0.0.1.) are not host names.
        if IPv4Address.isNumber(bytes.extracting(lastLabel)) { return nil }
        let text = bytes.string(in: 0..<bytes.count)
        return (hasUpper ? text.lowercased() : text, false)
    }

    /// Parses 1...65535 in decimal digits, without leading zeros.
    private static func port(_ digits: Span<UInt8>) -> UInt16? {
        guard (1...5).contains(digits.count), digits[0] != UInt8(ascii: "0") else { return nil }
        var value = 0
        for index in digits.indices {
            guard Grammar.isDigit(digits[index]) else { return nil }
            value = value * 10 + Int(digits[index] & 15)
        }
        return UInt16(exactly: value)
    }
}
