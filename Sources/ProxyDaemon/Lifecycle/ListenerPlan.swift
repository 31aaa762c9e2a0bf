import ProxyConfig

/// What another configuration does to the listeners: which stay, which get another owner, which are
/// opened and which are closed.
struct ListenerPlan {
    /// To be opened.
    private(set) var missing: [ListenPlace] = []
    /// Open already, and another channel's from now on: the socket is the same, so that no connection
    /// is refused meanwhile.
    private(set) var moving: [ServedAddress] = []
    /// To be closed.
    private(set) var leaving: [ServedAddress]

    init(from present: [ServedAddress], to places: [ListenPlace]) {
        leaving = present.filter { !places.contains($0.place) }
        for place in places where !present.contains(where: { $0.place == place }) {
            let fitting = leaving.filter { $0.isFound(at: place.address) }
            if fitting.isEmpty { missing.append(place) }
            for served in fitting {
                leaving.removeAll { $0.number == served.number }
                moving.append(
                    ServedAddress(socket: served.socket, place: place, number: served.number)
                )
            }
        }
    }
}

extension ServedAddress {
    /// Whether it is what an address of the configuration stands for, however that is written.
    ///
    /// Port 0 stands for another port each time.
    fileprivate func isFound(at address: ListenAddress) -> Bool {
        if case .systemd = address { return place.address == address }
        return address.socketAddress == socket.address
    }
}
