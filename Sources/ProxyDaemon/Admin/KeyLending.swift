import EventIO
import HTTPMessage
import NetworkCore
import ProxyConfig

/// Decides which keys programs get that run under `netproxy exec`.
struct KeyLending {
    let keys: ClientKeys
    let channels: ChannelSet
    let listeners: ListenerSet

    /// Lends a key; without names, for all channels.
    ///
    /// Over TCP, where every user of the machine can ask, no channel is opened that demands its own key.
    ///
    /// - Returns: the lease, which lasts as long as the body of its answer, or why the request is refused.
    func lend(
        to names: [String],
        over reach: AdminReach
    ) -> Result<ClientLeaseBody, AdminRefusal> {
        for name in names where channels[name] == nil {
            let unknown = UnknownChannel(name: name, present: channels.names)
            return .failure(AdminRefusal(status: 404, detail: unknown.description))
        }
        let closed =
            switch reach {
            case .unixSocket: Set<String>()
            case .tcp: Set(channels.channels.filter(\.demandsKey).map(\.name))
            }
        if let name = names.first(where: closed.contains) {
            let detail = """
                \(name) demands a key, and every user of this machine can reach an admin address of \
                TCP; set admin to unix:/path to have keys lent
                """
            return .failure(AdminRefusal(status: 403, detail: detail))
        }
        let leased = channels.channels.filter { channel in
            names.isEmpty ? !closed.contains(channel.name) : names.contains(channel.name)
        }
        let grant = keys.issue(
            for: names.isEmpty ? nil : Set(names),
            // By name: a channel that a later reload has demand a key is not opened by this one.
            opening: reach == .tcp ? [] : Set(leased.map(\.name))
        )
        let lease = ClientLease(
            key: grant.key.reveal(),
            proxy: listeners.localAddress(of: nil),
            channels: leased.map { channel in
                ClientLease.LeasedChannel(
                    name: channel.name,
                    url: listeners.url(of: channel.configuration),
                    upstreamHost: channel.origin.host
                )
            }
        )
        return .success(ClientLeaseBody(lease, grant, of: keys))
    }
}

extension ChannelShared {
    /// Whether clients of the channel must present its `access.key`.
    fileprivate var demandsKey: Bool { configuration.access.key != nil }
}
