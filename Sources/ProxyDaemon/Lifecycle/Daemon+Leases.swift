import EventIO
import HTTPMessage
import NetworkCore
import ProxyConfig

extension Daemon {
    /// Lends a key to a program; without a name, for all channels.
    ///
    /// - Parameters:
    ///   - names: which channels it is for.
    ///   - toAnybody: whether every user of the machine could ask: then no channel is opened that
    ///     demands a key of its own.
    /// - Returns: what the lease says for as long as it lasts, or why there is none.
    func lend(
        to names: [String],
        toAnybody: Bool
    ) -> Result<ClientLeaseBody, AdminGuard.Refusal> {
        let present = channels.map(\.name)
        for name in names where !present.contains(name) {
            let refusal = UnknownChannel(name: name, present: present)
            return .failure(AdminGuard.Refusal(status: 404, detail: refusal.description))
        }
        guard let keys = assembly?.clientKeys, !isStopping else {
            return .failure(AdminGuard.Refusal(status: 503, detail: "draining"))
        }
        let kept = toAnybody ? channels.filter { $0.configuration.access.key != nil } : []
        if let closed = kept.first(where: { names.contains($0.name) }) {
            let detail = """
                \(closed.name) demands a key, and every user of this machine reaches an admin address \
                of TCP; set admin to unix:/path to have keys lent
                """
            return .failure(AdminGuard.Refusal(status: 403, detail: detail))
        }
        let open = present.filter { name in !kept.contains { $0.name == name } }
        let wanted = names.isEmpty ? open : names
        // Whatever a reload makes of the channels: what demands a key later is not opened by this one.
        let grant = keys.issue(
            for: names.isEmpty ? nil : Set(names),
            opening: toAnybody ? [] : Set(wanted)
        )
        let lease = ClientLease(
            key: grant.key.reveal(),
            proxy: address(of: nil),
            channels: channels.filter { wanted.contains($0.name) }.map { channel in
                ClientLease.LeasedChannel(
                    name: channel.name,
                    url: url(of: channel.configuration),
                    upstreamHost: channel.origin.host
                )
            }
        )
        return .success(ClientLeaseBody(lease, grant, of: keys))
    }

    /// Where an app on this machine finds a listener over TCP.
    private func address(of channel: String?) -> String? {
        for listener in listeners where listener.channel == channel {
            let address = listener.socket.address
            guard !address.isUnix, let port = address.port else { continue }
            let text = address.description
            // What listens everywhere is asked here.
            if text.hasPrefix("0.0.0.0:") { return "127.0.0.1:\(port)" }
            return text.hasPrefix("[::]:") ? "[::1]:\(port)" : text
        }
        return nil
    }

    private func url(of channel: ChannelConfiguration) -> String? {
        if let own = address(of: channel.name) { return "http://\(own)" }
        guard let shared = address(of: nil) else { return nil }
        // With a prefix that stays, the app's own paths begin with it.
        let isPrefixed = channel.match.path != "/" && channel.match.strip == .remove
        return "http://\(shared)" + (isPrefixed ? channel.match.path : "")
    }
}
