import NetproxyChannels
import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTPMessage
import NetproxyPath
import NetworkCore

/// Decides which keys to lend to programs under `netproxy exec`.
struct KeyLending {
    let keys: ClientKeys
    let channels: ChannelSet
    let listeners: ListenerSet

    /// Lends a key; without names, for all channels.
    ///
    /// Over TCP, every user of the machine can send a request; a key lent over TCP does not open channels
    /// that demand their own key.
    ///
    /// - Parameters:
    ///   - names: the channels.
    ///   - identity: the identity to use for channels with several.
    ///   - peer: the peer that requests the key.
    ///   - reach: the way in which the peer is connected.
    /// - Returns: the lease, which is valid until its response body ends, or the reason for a refusal.
    func lend(
        to names: [String],
        as identity: String? = nil,
        _ peer: SocketPeer,
        over reach: AdminReach
    ) -> Result<ClientLeaseBody, AdminRefusal> {
        let closed = reach == .tcp ? keyedChannels : []
        if let refusal = refusal(names, as: identity, closed: closed, over: reach) {
            return .failure(refusal)
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
            // A key lent over TCP must not open a channel that a later reload protects with a key.
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

    /// The channels that demand their own key.
    private var keyedChannels: Set<String> {
        Set(channels.channels.filter(\.demandsKey).map(\.name))
    }

    /// Returns the reason not to lend a key, if there is one.
    private func refusal(
        _ names: [String],
        as identity: String?,
        closed: Set<String>,
        over reach: AdminReach
    ) -> AdminRefusal? {
        for name in names where channels[name] == nil {
            let unknown = UnknownChannel(name: name, present: channels.names)
            return AdminRefusal(status: 404, detail: unknown.description)
        }
        guard reach != .tcp || keys.countOverTCP < ClientKeys.limitOverTCP else {
            let detail = """
                \(ClientKeys.limitOverTCP) keys are lent over TCP already; end a program that has one, \
                or set admin to unix:/path
                """
            return AdminRefusal(status: 503, detail: detail)
        }
        if let name = names.first(where: closed.contains) {
            let detail = """
                \(name) demands a key, and every user of this machine can reach an admin address of \
                TCP; set admin to unix:/path to have keys lent
                """
            return AdminRefusal(status: 403, detail: detail)
        }
        let candidates =
            names.isEmpty ? channels.channels : channels.channels.filter { names.contains($0.name) }
        if let identity,
            !candidates.contains(where: { $0.accounts.contains { $0.identity == identity } })
        {
            let used = Set(candidates.flatMap(\.accounts).compactMap(\.identity)).sorted()
            let list = used.isEmpty ? "none" : used.joined(separator: ", ")
            return AdminRefusal(
                status: 404,
                detail: "no channel uses an identity \(identity); they use \(list)"
            )
        }
        return nil
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
    /// - Returns: the lease, or the reason for a refusal.
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
