import EventIO
import HTTP1
import HTTPMessage

/// The TCP addresses under which apps find this proxy, so that a request which names one of them in
/// absolute-form is told from one for another server.
///
/// Programs that are told of a proxy send it `GET http://127.0.0.1:8080/orders/42`, and RFC 9112
/// §3.2.2 has every server accept that form for itself.
struct OwnAddresses {
    /// A listener of this proxy.
    struct Entry {
        /// What the loop calls it.
        let number: Int
        let port: UInt16
        /// As an authority names it; nothing where it has every address of the machine.
        let host: String?
        let isLoopback: Bool
        /// Whose it is, if it is a channel's own.
        var channel: String?
    }

    private var entries: [Entry] = []

    /// Takes in a listener; a unix socket has no authority.
    mutating func add(_ address: SocketAddress, number: Int, channel: String?) {
        guard let port = address.port else { return }
        entries.append(
            Entry(
                number: number,
                port: port,
                host: address.isWildcard ? nil : Authority(address.description)?.host,
                isLoopback: address.isLoopback || address.isWildcard,
                channel: channel
            )
        )
    }

    /// Gives a listener to another channel, or to all of them.
    mutating func give(_ number: Int, to channel: String?) {
        for index in entries.indices where entries[index].number == number {
            entries[index].channel = channel
        }
    }

    /// Forgets a listener that is closed.
    mutating func remove(_ number: Int) {
        entries.removeAll { $0.number == number }
    }

    /// The listener that a request names in absolute-form, if its target is this proxy.
    ///
    /// - Parameters:
    ///   - target: the request's.
    ///   - localAddress: the address that the app has connected to; asked for only where a listener
    ///     has every address of the machine.
    /// - Returns: nothing for every other form, and for other servers.
    func listener(
        namedBy target: RequestTarget,
        localAddress: @autoclosure () -> SocketAddress?
    ) -> Entry? {
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

extension RequestHead {
    /// Makes a target that names this proxy what it would be without a proxy on the app's side, so
    /// that channels are found and apps are judged by the same rules.
    mutating func becomeDirect() {
        guard case .absolute(_, let authority, let pathAndQuery) = target else { return }
        target = pathAndQuery == "*" ? .asterisk : .origin(pathAndQuery)
        host = authority
    }
}
