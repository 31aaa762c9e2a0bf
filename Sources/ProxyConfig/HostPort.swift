/// A host and a port, `127.0.0.1:8080` or `[::1]:8080`.
package struct HostPort: Sendable, Hashable {
    /// A name, an IPv4 address, or an IPv6 address without its brackets.
    package let host: String
    /// 0 asks the system for a free port.
    package let port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Whether nobody outside this machine can reach the host.
    package var isLoopback: Bool { HostText.isLoopback(host) }

    /// Whether something can listen there: an IP address, or `localhost`, which is 127.0.0.1.
    var isBindable: Bool {
        host.lowercased() == "localhost" || HostText.bytes(ofIPv4: host) != nil
            || HostText.groups(ofIPv6: host) != nil
    }

    init?(text: some StringProtocol) {
        guard let parts = Self.split(text), let port = parts.port else { return nil }
        self.init(host: parts.host, port: port)
    }

    /// Splits an authority into host and port; nil when either is malformed.
    static func split(_ text: some StringProtocol) -> (host: String, port: Int?)? {
        var rest = text[...]
        let host: String
        if rest.first == "[" {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            host = String(rest[rest.index(after: rest.startIndex)..<end])
            guard HostText.groups(ofIPv6: host) != nil else { return nil }
            rest = rest[rest.index(after: end)...]
        } else {
            let end = rest.firstIndex(of: ":") ?? rest.endIndex
            host = String(rest[..<end])
            guard HostText.isName(host) else { return nil }
            rest = rest[end...]
        }
        guard !rest.isEmpty else { return (host, nil) }
        guard rest.first == ":", let port = WholeNumber.parse(rest.dropFirst()), port <= 65_535
        else { return nil }
        return (host, port)
    }
}

extension HostPort: CustomStringConvertible {
    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
