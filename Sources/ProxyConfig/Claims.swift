/// What two channels, or two listeners, must not both have.
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

    private var owners: [Claim: String] = [:]
    private let reading: Reading

    init(in reading: Reading) {
        self.reading = reading
    }

    /// Registers the listeners of the process.
    mutating func listeners(_ addresses: [ListenAddress], at node: ConfigNode?) {
        for (index, address) in addresses.enumerated() {
            let items = node.map { $0.items ?? [$0] } ?? []
            // After a faulty item the indices no longer match; the list itself is near enough.
            let item = items.count == addresses.count ? items[index] : node
            let place =
                item.map { ($0.position, $0.path) } ?? (Position(line: 1, column: 1), "listen")
            claim(address, owner: "listen", at: place)
        }
    }

    /// Registers what a channel matches on; a default stands where the channel's key does.
    mutating func channel(_ channel: ChannelConfiguration, _ section: Section<ChannelKey>) {
        let match = section.section(.match, MatchKey.self)
        let owner = "channel '\(channel.name)'"
        claim(.init(kind: .path, text: channel.match.path), owner, at: match.place(of: .path))
        for host in channel.match.hosts {
            let items = match[.hosts].map { $0.items ?? [$0] } ?? []
            let item = items.first { $0.text?.lowercased() == host }
            let place = item.map { ($0.position, $0.path) } ?? match.place(of: .hosts)
            claim(.init(kind: .host, text: host), owner, at: place)
        }
        if let listen = channel.match.listen {
            claim(listen, owner: owner, at: match.place(of: .listen))
        }
    }

    private mutating func claim(
        _ address: ListenAddress,
        owner: String,
        at place: (position: Position, key: String)
    ) {
        // Port 0 is another port each time.
        guard case .tcp(let tcp) = address else {
            return claim(.init(kind: .address, text: address.description), owner, at: place)
        }
        if tcp.port == 0 { return }
        let host = tcp.host.lowercased() == "localhost" ? "127.0.0.1" : tcp.host
        let bound = HostPort(host: host, port: tcp.port)
        claim(.init(kind: .address, text: bound.description), owner, at: place)
    }

    private mutating func claim(
        _ claim: Claim,
        _ owner: String,
        at place: (position: Position, key: String)
    ) {
        guard let earlier = owners[claim] else {
            owners[claim] = owner
            return
        }
        reading.report(
            "'\(claim.text)' is already taken by \(earlier)",
            at: place.position,
            key: place.key
        )
    }
}
