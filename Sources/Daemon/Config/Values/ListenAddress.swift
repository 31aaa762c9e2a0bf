/// An address on which netproxy accepts connections.
package enum ListenAddress: Sendable, Hashable {
    /// A TCP address; port 0 requests a free one from the system.
    case tcp(HostPort)
    /// The absolute path of a Unix socket.
    case unix(String)
    /// A socket that systemd passes under this name (`FileDescriptorName=`).
    case systemd(String)

    /// Parses `127.0.0.1:8080`, `[::1]:8080`, `unix:/path` or `systemd:NAME`.
    package init?(text: String) {
        if text.hasPrefix("unix:") {
            guard let path = Self.socketPath(text.dropFirst(5)) else { return nil }
            self = .unix(path)
        } else if text.hasPrefix("systemd:") {
            let name = text.dropFirst(8)
            // systemd.socket(5): names have at most 255 characters and no colon.
            guard (1...255).contains(name.utf8.count), !name.contains(":"),
                name.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else { return nil }
            self = .systemd(String(name))
        } else {
            guard let address = HostPort(text: text) else { return nil }
            self = .tcp(address)
        }
    }

    /// Whether only this machine can connect; sockets from systemd count as local.
    package var isLocal: Bool {
        switch self {
        case .tcp(let address): address.isLoopback
        case .unix, .systemd: true
        }
    }

    /// Whether the address is a path.
    package var isUnix: Bool {
        if case .unix = self { true } else { false }
    }

    /// The maximum length of a socket's path in bytes: `sockaddr_un` also contains a terminating NUL.
    package static let longestPath = 107

    /// Returns the expected form for a path that is too long, a port without a host, or a nonexistent port,
    /// or nil for other texts.
    static func bound(of text: String) -> String? {
        let port = text.split(separator: ":", omittingEmptySubsequences: false).last ?? ""
        if !port.isEmpty, port.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            guard WholeNumber.parse(port, atMost: 65_536) ?? 0 <= 65_535 else {
                return "a port from 0 to 65535"
            }
            let host = text.dropLast(port.count)
            return host.isEmpty || host == ":" ? "an address such as 127.0.0.1:\(port)" : nil
        }
        guard text.hasPrefix("unix:/"), text.utf8.count - 5 > longestPath else { return nil }
        return "a path of at most \(longestPath) bytes"
    }

    /// Returns the path if it is absolute and fits into `sockaddr_un`.
    private static func socketPath(_ text: some StringProtocol) -> String? {
        guard text.hasPrefix("/"), text.utf8.count <= longestPath else { return nil }
        return String(text)
    }
}

extension ListenAddress: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tcp(let address): address.description
        case .unix(let path): "unix:\(path)"
        case .systemd(let name): "systemd:\(name)"
        }
    }
}

/// An address of the admin interface.
package enum AdminAddress: Sendable, Hashable {
    /// The absolute path of a Unix socket.
    case unix(String)
    /// A loopback address.
    case tcp(HostPort)

    /// The same address as a `ListenAddress`.
    package var listenAddress: ListenAddress {
        switch self {
        case .unix(let path): .unix(path)
        case .tcp(let endpoint): .tcp(endpoint)
        }
    }
}
