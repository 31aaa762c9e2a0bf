import NetproxyHTTPMessage

/// The URI to which a browser is redirected after a sign-in, on a loopback address (RFC 8252 §7.3).
package struct RedirectURI: Sendable, Hashable {
    /// `http://127.0.0.1/callback` on any free port.
    package static let standard = RedirectURI(host: "127.0.0.1", port: nil, path: "/callback")

    /// `localhost`, or a loopback address; IPv6 without brackets.
    package let host: String
    /// The port registered with the server; nil means any free port.
    package let port: UInt16?
    /// The path as registered: empty, or beginning with a slash.
    package let path: String

    private init(host: String, port: UInt16?, path: String) {
        self.host = host
        self.port = port
        self.path = path
    }

    /// Parses a URI; `nil` unless it is `http` on a loopback address, without query and fragment.
    package init?(_ text: String) {
        let scheme = "http://"
        guard text.hasPrefix(scheme), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        let rest = text.dropFirst(scheme.count)
        let path = rest[(rest.firstIndex(of: "/") ?? rest.endIndex)...]
        guard let authority = HostText.authority(rest[..<path.startIndex]), authority.port != 0,
            authority.host == "localhost"
                || authority.isIPLiteral && Origin.isLoopback(authority.host),
            !path.contains("?"), !path.contains("#"),
            !path.split(separator: "/").contains(where: URLText.isDotSegment)
        else { return nil }
        self.init(host: authority.host, port: authority.port, path: String(path))
    }

    /// Whether another URI is the same; a URI without a port accepts any port.
    package func accepts(_ other: RedirectURI) -> Bool {
        host == other.host && path == other.path && (port == nil || port == other.port)
    }

    /// Returns the URI with the actual port, as sent to the server and the browser.
    package func text(port: UInt16) -> String {
        "http://\(Authority.bracketed(host)):\(port)\(path)"
    }
}
