import NetproxyConfig
import NetproxyEventIO

/// The sockets that the daemon serves, in the order of the configuration.
struct ListenerSet: Sendable {
    private(set) var served: [ServedAddress] = []
    private var lastNumber = 0
    private let inherited: InheritedSockets

    init(_ inherited: InheritedSockets) {
        self.inherited = inherited
    }

    /// Where it listens, with the ports that the system chose.
    var addresses: [SocketAddress] { served.map(\.socket.address) }

    // MARK: - Opening and closing

    /// Opens sockets that no loop accepts from yet.
    ///
    /// - Throws: `IOError.system` that names the address; what was opened is closed again.
    mutating func open(_ places: [ListenPlace]) throws(IOError) -> [ServedAddress] {
        var opened: [ServedAddress] = []
        for place in places {
            let sockets: [SharedSocket]
            do throws(IOError) {
                sockets = try SharedSocket.open(place.address, inherited)
            } catch {
                guard place.isDispensable else { throw error }
                continue
            }
            for socket in sockets {
                lastNumber += 1
                opened.append(ServedAddress(socket: socket, place: place, number: lastNumber))
            }
        }
        return opened
    }

    /// Refuses systemd's sockets that other machines can reach, unless `allow_remote` is set: their
    /// addresses are not in the configuration.
    ///
    /// - Throws: `IOError.system` that names the address.
    func checkReach(of configuration: ProxyConfiguration) throws(IOError) {
        guard !configuration.allowRemote else { return }
        for place in configuration.listenPlaces {
            guard case .systemd(let name) = place.address else { continue }
            for socket in try inherited.named(name) where !socket.address.isLoopback {
                throw .system(
                    "cannot listen on systemd:\(name): '\(socket.address)' is not a loopback address, "
                        + "set allow_remote: true"
                )
            }
        }
    }

    /// Adds a socket that is served from now on.
    mutating func add(_ address: ServedAddress) {
        served.append(address)
    }

    /// Gives sockets to the channels that a plan has for them.
    mutating func reassign(_ moving: [ServedAddress]) {
        served = served.map { present in
            moving.first { $0.number == present.number } ?? present
        }
    }

    /// Releases a socket that is no longer served.
    mutating func remove(_ address: ServedAddress) {
        served.removeAll { $0.number == address.number }
    }

    /// Releases all sockets; each is closed when the last loop has let go of it.
    mutating func removeAll() {
        served = []
    }

    // MARK: - Finding the proxy

    /// The TCP address, `host:port`, at which a client on this machine reaches a channel's own listener
    /// or, for `nil`, a shared one.
    func localAddress(of channel: String?) -> String? {
        for listener in served where listener.channel == channel {
            let address = listener.socket.address
            guard !address.isUnix, let port = address.port else { continue }
            let text = address.description
            // A wildcard address is reached over loopback.
            if text.hasPrefix("0.0.0.0:") { return "127.0.0.1:\(port)" }
            return text.hasPrefix("[::]:") ? "[::1]:\(port)" : text
        }
        return nil
    }

    /// The TCP address, `host:port`, of the listener that a channel's URL names.
    func authority(of channel: ChannelConfiguration) -> String? {
        localAddress(of: channel.name) ?? localAddress(of: nil)
    }

    /// The path of a unix socket at which a client reaches a channel: its own, or a shared one.
    func socketPath(of channel: String) -> String? {
        for owner in [channel, nil] {
            for listener in served where listener.channel == owner {
                if let path = listener.socket.address.unixPath { return path }
            }
        }
        return nil
    }

    /// The URL that stands for the base of a channel's upstream, if the channel is reached over TCP.
    func url(of channel: ChannelConfiguration) -> String? {
        if let own = localAddress(of: channel.name) { return "http://\(own)" }
        guard let shared = localAddress(of: nil) else { return nil }
        // A prefix that is kept is part of the upstream's paths already.
        let isPrefixed = channel.match.path != "/" && channel.match.strip == .remove
        return "http://\(shared)" + (isPrefixed ? channel.match.path : "")
    }
}

extension ProxyConfiguration {
    /// Where to listen: the shared listeners first, then the channels' own.
    ///
    /// `localhost` stands for both loopback addresses. A listener on 127.0.0.1 is on ::1, too, unless
    /// something else is there: for some clients `localhost` is ::1 alone.
    var listenPlaces: [ListenPlace] {
        let named =
            listen.map { ListenPlace(address: $0, channel: nil) }
            + channels.compactMap { channel in
                channel.match.listen.map { ListenPlace(address: $0, channel: channel.name) }
            }
        var taken = Set(named.compactMap(\.address.portOnIPv6))
        taken.formUnion(admin.compactMap(\.listenAddress.portOnIPv6))
        return named.flatMap { place in
            // Port 0 is another port each time, and known only when the first socket is open.
            guard case .tcp(let endpoint) = place.address, endpoint.port != 0 else {
                return [place]
            }
            let other = ListenAddress.tcp(HostPort(host: "::1", port: endpoint.port))
            switch endpoint.host {
            case "localhost":
                let first = ListenAddress.tcp(HostPort(host: "127.0.0.1", port: endpoint.port))
                return [
                    ListenPlace(address: first, channel: place.channel),
                    ListenPlace(address: other, channel: place.channel, necessity: .whereIPv6),
                ]
            case "127.0.0.1" where !taken.contains(endpoint.port):
                return [
                    place,
                    ListenPlace(address: other, channel: place.channel, necessity: .whereFree),
                ]
            default: return [place]
            }
        }
    }
}

extension ListenPlace {
    /// Whether the daemon goes on where the address cannot be bound.
    fileprivate var isDispensable: Bool {
        switch necessity {
        case .required: false
        case .whereIPv6: !SharedSocket.hasIPv6
        case .whereFree: true
        }
    }
}

extension ListenAddress {
    /// The port, if the address takes it on ::1.
    fileprivate var portOnIPv6: Int? {
        guard case .tcp(let endpoint) = self, ["::1", "::", "localhost"].contains(endpoint.host)
        else { return nil }
        return endpoint.port
    }
}

/// What another configuration does to the listeners: which stay, which get another owner, which are
/// opened and which are closed.
struct ListenerPlan {
    /// To be opened.
    private(set) var missing: [ListenPlace] = []
    /// To be opened once what leaves is closed: the system lets no one bind an address and all addresses
    /// with the same port.
    private(set) var late: [ListenPlace] = []
    /// Open, and owned by another channel from now on: the socket stays, so that no connection is
    /// refused.
    private(set) var moving: [ServedAddress] = []
    /// To be closed.
    private(set) var leaving: [ServedAddress]

    init(from present: [ServedAddress], to places: [ListenPlace]) {
        leaving = present.filter { !places.contains($0.place) }
        for place in places where !present.contains(where: { $0.place == place }) {
            let fitting = leaving.filter { $0.matches(place.address) }
            if fitting.isEmpty { missing.append(place) }
            for served in fitting {
                leaving.removeAll { $0.number == served.number }
                moving.append(
                    ServedAddress(socket: served.socket, place: place, number: served.number)
                )
            }
        }
        // Not before it is known what stays.
        late = missing.filter { place in leaving.contains { $0.overlaps(place.address) } }
        missing.removeAll(where: late.contains)
    }

    /// Lets go of what is to be closed: a socket is closed when no one has it any more.
    mutating func takeLeaving() -> [ServedAddress] {
        defer { leaving = [] }
        return leaving
    }
}

extension ServedAddress {
    /// Whether an address of the configuration stands for this socket, however it is written.
    ///
    /// Port 0 stands for another port each time.
    fileprivate func matches(_ address: ListenAddress) -> Bool {
        if case .systemd = address { return place.address == address }
        return address.socketAddress == socket.address
    }

    /// Whether one of the two takes all addresses, and both the same port.
    fileprivate func overlaps(_ address: ListenAddress) -> Bool {
        guard let wanted = address.socketAddress, !wanted.isUnix, wanted.port == socket.address.port
        else { return false }
        return wanted.isWildcard || socket.address.isWildcard
    }
}
