import HTTPMessage

/// Where a browser comes back to after a sign-in: a loopback address of this machine (RFC 8252 §7.3).
package struct RedirectURI: Sendable, Hashable {
    /// Any free port of `http://127.0.0.1/callback`.
    package static let standard = RedirectURI(host: "127.0.0.1", port: nil, path: "/callback")

    /// `localhost`, or a loopback address; IPv6 without brackets.
    package let host: String
    /// The port that is registered with the server; nothing takes any free one.
    package let port: UInt16?
    /// As it is registered: empty, or with a slash at its front.
    package let path: String

    private init(host: String, port: UInt16?, path: String) {
        self.host = host
        self.port = port
        self.path = path
    }

    init?(_ text: String) {
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

    /// The URI with the port that was taken: what the server and the browser are told.
    package func text(port: UInt16) -> String {
        "http://\(Authority.bracketed(host)):\(port)\(path)"
    }
}
