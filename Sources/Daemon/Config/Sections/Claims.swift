import NetproxyHTTPMessage

/// The paths, hosts and addresses in use, each reserved for a single channel or listener.
struct Claims {
    private enum Kind: Hashable {
        case path
        case host
        case address
    }

    private struct Claim: Hashable {
        let kind: Kind
        let text: String
    }

    /// The TCP address of a listener.
    private struct Bound {
        let address: IPAddress
        let port: Int
        let owner: String

        /// Whether the system cannot bind both: `0.0.0.0` includes every IPv4 address, and `::` also accepts
        /// IPv4 connections (ipv6(7)).
        func excludes(_ other: Bound) -> Bool {
            guard port == other.port else { return false }
            return address == other.address || covers(other) || other.covers(self)
        }

        private func covers(_ other: Bound) -> Bool {
            switch (address, other.address) {
            case (.v4(0), .v4), (.v6(0), _): true
            default: false
            }
        }
    }

    private var owners: [Claim: String] = [:]
    private var bound: [Bound] = []
    private let reading: Reading

    init(in reading: Reading) {
        self.reading = reading
    }

    /// Registers the listeners of the process.
    mutating func listeners(_ addresses: [ListenAddress], at node: ConfigNode?) {
        claim(addresses, owner: "listen", at: node)
    }

    /// Registers the addresses of the admin interface.
    mutating func admin(_ addresses: [AdminAddress], at node: ConfigNode?) {
        claim(addresses.map(\.listenAddress), owner: "admin", at: node)
    }

    private mutating func claim(_ addresses: [ListenAddress], owner: String, at node: ConfigNode?) {
        let items = node.map { $0.items ?? [$0] } ?? []
        for (index, address) in addresses.enumerated() {
            // An invalid item is missing from the addresses, so the indices no longer match.
            let item = items.count == addresses.count ? items[index] : node
            claim(address, owner: owner, at: item?.place ?? Place(position: .start, key: owner))
        }
    }

    /// Registers the path, hosts and address that a channel matches; a default is reported at the channel's
    /// key.
    mutating func channel(_ channel: ChannelConfiguration, _ section: Section<ChannelKeys>) {
        let match = section[\.match]
        let owner = "channel '\(channel.name)'"
        claim(.init(kind: .path, text: channel.match.path), owner, at: match.path.place)
        let items = match.hosts.items
        for (index, host) in channel.match.hosts.enumerated() {
            // An invalid item is missing from the hosts, so the indices no longer match.
            let item =
                items.count == channel.match.hosts.count
                ? items[index] : items.first { $0.text?.lowercased() == host }
            let place = item?.place ?? match.hosts.place
            claim(.init(kind: .host, text: host), owner, at: place)
        }
        if let listen = channel.match.listen {
            claim(listen, owner: owner, at: match.listen.place)
        }
    }

    private mutating func claim(
        _ address: ListenAddress,
        owner: String,
        at place: Place
    ) {
        // Port 0 selects a different port each time.
        guard case .tcp(let tcp) = address else {
            return claim(.init(kind: .address, text: Self.name(of: address)), owner, at: place)
        }
        // An admin address uses only the first one, but people do not expect a difference.
        let hosts = tcp.host == "localhost" ? ["127.0.0.1", "::1"] : [tcp.host]
        for host in hosts {
            guard tcp.port != 0, let ip = IPAddress(host) else { return }
            let wanted = Bound(address: ip, port: tcp.port, owner: owner)
            guard let earlier = bound.first(where: wanted.excludes) else {
                bound.append(wanted)
                continue
            }
            return report(
                HostPort(host: host, port: tcp.port).description,
                earlier.owner,
                at: place
            )
        }
    }

    private mutating func claim(
        _ claim: Claim,
        _ owner: String,
        at place: Place
    ) {
        guard let earlier = owners[claim] else {
            owners[claim] = owner
            return
        }
        let isOwn = claim.kind == .host && earlier == owner
        report(claim.text, isOwn ? "\(owner) itself" : earlier, at: place)
    }

    /// Returns the normalized name of a socket: `/run//a` and `/run/./a` are `/run/a`.
    private static func name(of address: ListenAddress) -> String {
        guard case .unix(let path) = address else { return address.description }
        let parts = path.split(separator: "/").filter { $0 != "." }
        return "unix:/" + parts.joined(separator: "/")
    }

    private func report(
        _ text: String,
        _ owner: String,
        at place: Place
    ) {
        reading.report("'\(text)' is already used by \(owner)", at: place)
    }
}
