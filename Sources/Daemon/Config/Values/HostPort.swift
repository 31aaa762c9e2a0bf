import NetproxyHTTPMessage

/// A host and a port, `127.0.0.1:8080` or `[::1]:8080`.
package struct HostPort: Sendable, Hashable {
    /// A name in lower case, an IPv4 address, or an IPv6 address without its brackets.
    package let host: String
    /// The port; 0 requests a free port from the system.
    package let port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Whether the host is reachable from this machine only.
    package var isLoopback: Bool { Origin.isLoopback(host) }

    /// Whether a listener can be bound to the host: an IP address, or `localhost`.
    var isBindable: Bool { host == "localhost" || IPAddress(host) != nil }

    init?(text: some StringProtocol) {
        guard let colon = text.lastIndex(of: ":"),
            let port = WholeNumber.parse(text[text.index(after: colon)...]), port <= 65_535,
            let authority = HostText.authority(text[..<colon]), authority.port == nil
        else { return nil }
        self.init(host: authority.host, port: port)
    }
}

extension HostPort: CustomStringConvertible {
    package var description: String { "\(Authority.bracketed(host)):\(port)" }
}
