import NetproxyConfig
import NetproxyEventIO

/// The open listening sockets of the daemon, in the order of the configuration.
struct ListenerSet: Sendable {
    private(set) var served: [ServedAddress] = []
    private var lastNumber = 0
    private let inherited: InheritedSockets

    init(_ inherited: InheritedSockets) {
        self.inherited = inherited
    }

    /// The addresses of the sockets, with the ports chosen by the system.
    var addresses: [SocketAddress] { served.map(\.socket.address) }

    // MARK: - Opening and closing

    /// Opens sockets; no loop accepts from them yet.
    ///
    /// - Throws: `IOError.system` that names the address; the sockets opened so far are closed again.
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

    /// Refuses systemd's sockets that other machines can reach, unless `allow_remote` is set.
    ///
    /// Their addresses are not in the configuration.
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

    /// Assigns sockets to the channels of a plan.
    mutating func reassign(_ moving: [ServedAddress]) {
        served = served.map { present in
            moving.first { $0.number == present.number } ?? present
        }
    }

    /// Releases a socket that is no longer served.
    mutating func remove(_ address: ServedAddress) {
        served.removeAll { $0.number == address.number }
    }

    /// Releases all sockets; each one closes when the last loop releases it.
    mutating func removeAll() {
        served = []
    }

    // MARK: - Finding the proxy

    /// Returns the TCP address, `host:port`, at which a local client reaches a channel's own listener.
    ///
    /// For `nil` it is the address of a shared listener.
    func localAddress(of channel: String?) -> String? {
        for listener in served where listener.channel == channel {
            let address = listener.socket.address
            guard !address.isUnix, let port = address.port else { continue }
            let text = address.description
            // Clients reach a wildcard address over loopback.
            if text.hasPrefix("0.0.0.0:") { return "127.0.0.1:\(port)" }
            return text.hasPrefix("[::]:") ? "[::1]:\(port)" : text
        }
        return nil
    }

    /// Returns the TCP address, `host:port`, of the listener in a channel's URL.
    func authority(of channel: ChannelConfiguration) -> String? {
        localAddress(of: channel.name) ?? localAddress(of: nil)
    }

    /// Returns the path of a unix socket at which a client reaches a channel: its own, or a shared one.
    func socketPath(of channel: String) -> String? {
        for owner in [channel, nil] {
            for listener in served where listener.channel == owner {
                if let path = listener.socket.address.unixPath { return path }
            }
        }
        return nil
    }

    /// Returns the URL for the base of a channel's upstream, if the channel is reachable over TCP.
    func url(of channel: ChannelConfiguration) -> String? {
        if let own = localAddress(of: channel.name) { return "http://\(own)" }
        guard let shared = localAddress(of: nil) else { return nil }
        // An unstripped prefix is already part of the upstream's paths.
        let isPrefixed = channel.match.path != "/" && channel.match.strip == .remove
        return "http://\(shared)" + (isPrefixed ? channel.match.path : "")
    }
}

extension ProxyConfiguration {
    /// The addresses to listen on: the shared listeners first, then the channels' own.
    ///
    /// `localhost` means both loopback addresses. A listener on 127.0.0.1 also listens on ::1 unless that
    /// port is in use, because for some clients `localhost` is ::1 alone.
    var listenPlaces: [ListenPlace] {
        let named =
            listen.map { ListenPlace(address: $0, channel: nil) }
            + channels.compactMap { channel in
                channel.match.listen.map { ListenPlace(address: $0, channel: channel.name) }
            }
        var taken = Set(named.compactMap(\.address.portOnIPv6))
        taken.formUnion(admin.compactMap(\.listenAddress.portOnIPv6))
        return named.flatMap { place in
            // Port 0 is a different port each time, known only when the first socket is open.
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
    /// Whether the daemon continues if the address cannot be bound.
    fileprivate var isDispensable: Bool {
        switch necessity {
        case .required: false
        case .whereIPv6: !SharedSocket.hasIPv6
        case .whereFree: true
        }
    }
}

extension ListenAddress {
    /// The port, if the address uses it on ::1.
    fileprivate var portOnIPv6: Int? {
        guard case .tcp(let endpoint) = self, ["::1", "::", "localhost"].contains(endpoint.host)
        else { return nil }
        return endpoint.port
    }
}

/// The effect of a new configuration on the listeners: they stay, change owner, open or close.
struct ListenerPlan {
    /// The listeners to open.
    private(set) var missing: [ListenPlace] = []
    /// The listeners to open after others have closed.
    ///
    /// The system does not allow binding an address and a wildcard address with the same port.
    private(set) var late: [ListenPlace] = []
    /// The open listeners with a new owner; their sockets stay open, so that no connection is refused.
    private(set) var moving: [ServedAddress] = []
    /// The listeners to close.
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
        // Computed last, because it depends on the listeners that stay.
        late = missing.filter { place in leaving.contains { $0.overlaps(place.address) } }
        missing.removeAll(where: late.contains)
    }

    /// Releases the listeners to close; a socket closes when its last owner releases it.
    mutating func takeLeaving() -> [ServedAddress] {
        defer { leaving = [] }
        return leaving
    }
}

extension ServedAddress {
    /// Whether an address of the configuration is the address of this socket, in any spelling.
    ///
    /// Port 0 is a different port each time.
    fileprivate func matches(_ address: ListenAddress) -> Bool {
        if case .systemd = address { return place.address == address }
        return address.socketAddress == socket.address
    }

    /// Whether both have the same port, and one is a wildcard address.
    fileprivate func overlaps(_ address: ListenAddress) -> Bool {
        guard let wanted = address.socketAddress, !wanted.isUnix, wanted.port == socket.address.port
        else { return false }
        return wanted.isWildcard || socket.address.isWildcard
    }
}
