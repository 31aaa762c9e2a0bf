import NetproxyChannels
import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTPMessage
import NetproxyPath
import NetworkCore

/// Decides which keys programs get that run under `netproxy exec`.
struct KeyLending {
    let keys: ClientKeys
    let channels: ChannelSet
    let listeners: ListenerSet

    /// Lends a key; without names, for all channels.
    ///
    /// Over TCP, where every user of the machine can ask, no channel is opened that demands its own key.
    ///
    /// - Parameters:
    ///   - names: the channels.
    ///   - identity: which one it is for, where a channel has several.
    ///   - peer: who asks.
    ///   - reach: how.
    /// - Returns: the lease, which lasts as long as the body of its answer, or why the request is refused.
    func lend(
        to names: [String],
        as identity: String? = nil,
        _ peer: SocketPeer,
        over reach: AdminReach
    ) -> Result<ClientLeaseBody, AdminRefusal> {
        for name in names where channels[name] == nil {
            let unknown = UnknownChannel(name: name, present: channels.names)
            return .failure(AdminRefusal(status: 404, detail: unknown.description))
        }
        guard reach != .tcp || keys.countOverTCP < ClientKeys.limitOverTCP else {
            let detail = """
                \(ClientKeys.limitOverTCP) keys are lent over TCP already; end a program that has one, \
                or set admin to unix:/path
                """
            return .failure(AdminRefusal(status: 503, detail: detail))
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
        let candidates =
            names.isEmpty ? channels.channels : channels.channels.filter { names.contains($0.name) }
        if let identity,
            !candidates.contains(where: { $0.accounts.contains { $0.identity == identity } })
        {
            let used = Set(candidates.flatMap(\.accounts).compactMap(\.identity)).sorted()
            let list = used.isEmpty ? "none" : used.joined(separator: ", ")
            return .failure(
                AdminRefusal(
                    status: 404,
                    detail: "no channel uses an identity \(identity); they use \(list)"
                )
            )
        }
        let leased = channels.channels.filter { channel in
            names.isEmpty ? !closed.contains(channel.name) : names.contains(channel.name)
        }
        let grant = keys.issue(
            for: names.isEmpty ? nil : Set(names),
            as: identity,
            of: Set(
                leased.filter { channel in
                    identity != nil && channel.accounts.contains { $0.identity == identity }
                }.map(\.name)
            ),
            // By name: a channel that a later reload has demand a key is not opened by this one.
            opening: reach == .tcp ? [] : Set(leased.map(\.name)),
            to: reach == .tcp ? .anyone : .permitted,
            peer
        )
        let lease = ClientLease(
            key: grant.key.reveal(),
            proxy: listeners.localAddress(of: nil),
            channels: leased.map { describe($0, key: grant.key.reveal()) }
        )
        return .success(ClientLeaseBody(lease, grant, of: keys))
    }

    private func describe(
        _ channel: ChannelRecord,
        key: String
    ) -> ClientLease.LeasedChannel {
        let configuration = channel.configuration
        let url = listeners.url(of: configuration)
        var leased = ClientLease.LeasedChannel(
            name: channel.name,
            url: url,
            upstreamHost: channel.rules.origin.host,
            upstreams: configuration.upstreams.map {
                ClientLease.Server(host: $0.origin.host, port: $0.origin.port)
            }
        )
        guard !configuration.exec.isEmpty else { return leased }
        var (variables, missing): ([String: String], [String: String]) = ([:], [:])
        for variable in configuration.exec {
            let (value, lack): (String?, String) =
                switch variable.value {
                case .url: (url, "no listener of the channel is on TCP")
                case .host:
                    (listeners.authority(of: configuration), "no listener of the channel is on TCP")
                case .key: (key, "")
                case .socket:
                    (
                        listeners.socketPath(of: channel.name),
                        "no listener of the channel is a unix socket: add unix:/path to listen"
                    )
                }
            if let value { variables[variable.name] = value } else { missing[variable.name] = lack }
        }
        (leased.variables, leased.missing) = (variables, missing)
        return leased
    }
}

extension ChannelRecord {
    /// Whether clients of the channel must present its `access.key`.
    fileprivate var demandsKey: Bool { configuration.access.key != nil }
}

extension Daemon {
    /// Lends a key to a program; without names, for all channels.
    ///
    /// - Returns: the lease, or why the request is refused.
    func lend(
        to names: [String],
        as identity: String?,
        _ peer: SocketPeer,
        over reach: AdminReach
    ) -> Result<ClientLeaseBody, AdminRefusal> {
        guard let keys = assembly?.clientKeys, !state.isEnding else {
            return .failure(AdminRefusal(status: 503, detail: "draining"))
        }
        return KeyLending(keys: keys, channels: channels, listeners: listeners)
            .lend(to: names, as: identity, peer, over: reach)
    }
}
