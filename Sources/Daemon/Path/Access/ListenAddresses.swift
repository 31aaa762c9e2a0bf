package import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage

/// The TCP addresses of this proxy.
///
/// A request in absolute-form for one of them is for the proxy, not for another server: programs send a
/// proxy `GET http://127.0.0.1:8080/orders/42`, and RFC 9112 §3.2.2 requires every server to accept that
/// form.
package struct ListenAddresses {
    /// A listener of this proxy.
    struct OwnAddress {
        /// The number of the listener on the loop.
        let number: Int
        let port: UInt16
        /// The host in an authority; `nil` if the listener has every address of the machine.
        let host: String?
        let isLoopback: Bool
        /// The channel of the listener; `nil` if it serves all of them.
        var channel: String?
    }

    private var entries: [OwnAddress] = []

    /// Adds a listener; ignores unix sockets, which have no authority.
    package mutating func add(_ address: SocketAddress, number: Int, channel: String?) {
        guard let port = address.port else { return }
        entries.append(
            OwnAddress(
                number: number,
                port: port,
                host: address.isWildcard ? nil : Authority(address.description)?.host,
                isLoopback: address.isLoopback || address.isWildcard,
                channel: channel
            )
        )
    }

    /// Assigns a listener to another channel, or to all of them.
    package mutating func give(_ number: Int, to channel: String?) {
        for index in entries.indices where entries[index].number == number {
            entries[index].channel = channel
        }
    }

    /// Removes a closed listener.
    package mutating func remove(_ number: Int) {
        entries.removeAll { $0.number == number }
    }

    /// Returns the listener named in absolute-form, if the target is this proxy.
    ///
    /// - Parameters:
    ///   - target: the request target.
    ///   - localAddress: the local address of the connection; evaluated only if a listener has every
    ///     address of the machine.
    /// - Returns: the listener; `nil` for every other form and for other servers.
    func listener(
        namedBy target: RequestTarget,
        localAddress: @autoclosure () -> SocketAddress?
    ) -> OwnAddress? {
        guard case .absolute(.http, let authority, _) = target else { return nil }
        let port = authority.port ?? Origin.Scheme.http.defaultPort
        for entry in entries where entry.port == port {
            if let host = entry.host, host == authority.host { return entry }
            guard entry.isLoopback else { continue }
            if authority.host == "localhost" { return entry }
            guard entry.host == nil, authority.isIPLiteral else { continue }
            if authority.host == "127.0.0.1" || authority.host == "::1"
                || authority.host == localAddress().flatMap({ Authority($0.description) })?.host
            {
                return entry
            }
        }
        return nil
    }
}

extension ListenAddresses {
    /// Whether a request to an origin may arrive at a listener of this proxy.
    ///
    /// The port must be one of ours, and the host must be this machine or a name, which may resolve to it.
    func mayReceive(requestsTo host: String, _ port: UInt16) -> Bool {
        let address = SocketAddress(ip: host, port: port)
        return entries.contains { entry in
            guard entry.port == port else { return false }
            guard let address else { return true }
            return entry.host == nil || entry.host == host
                || (entry.isLoopback && address.isLoopback)
        }
    }
}

extension RequestHead {
    /// Turns a target that names this proxy into origin-form, so that the same rules find the channel and
    /// check the client.
    mutating func becomeDirect() {
        guard case .absolute(_, let authority, let pathAndQuery) = target else { return }
        target = pathAndQuery == "*" ? .asterisk : .origin(pathAndQuery)
        host = authority
    }
}
