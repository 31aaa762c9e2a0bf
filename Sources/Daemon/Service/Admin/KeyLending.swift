import FoundationEssentials
import NetproxyChannels
import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTPMessage
import NetproxyPath
import NetproxySystem
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
        let shaped = ShapedKeys(leased.flatMap(\.configuration.exec).map(\.value))
        let grant = keys.issue(
            shaped.keys,
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
            channels: leased.map { describe($0, key: grant.key.reveal(), shaped) }
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
        key: String,
        _ shaped: ShapedKeys
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
            var value = ""
            for part in variable.value.parts {
                switch part {
                case .text(let text): value += text
                case .shapedKey(let length): value += shaped.key(length)
                case .word(let word):
                    let (text, lack) = self.value(of: word, for: configuration, url: url, key: key)
                    if let text { value += text } else { missing[variable.name] = lack }
                }
            }
            if missing[variable.name] == nil { variables[variable.name] = value }
        }
        (leased.variables, leased.missing) = (variables, missing)
        return leased
    }

    /// Returns the text of a word, or the reason that there is none.
    private func value(
        of word: ExecText.Word,
        for channel: ChannelConfiguration,
        url: String?,
        key: String
    ) -> (text: String?, lack: String) {
        let lack = "no listener of the channel is on TCP"
        return switch word {
        case .url: (url, lack)
        case .keyedURL:
            (url.map { $0.replacing("http://", with: "http://netproxy:\(key)@") }, lack)
        case .host: (listeners.authority(of: channel), lack)
        case .key: (key, "")
        case .socket:
            (
                listeners.socketPath(of: channel.name),
                "no listener of the channel is a unix socket: add unix:/path to listen"
            )
        }
    }
}

/// The random part of a program's shaped keys, one for each length, and the texts in which a client sends
/// them.
private struct ShapedKeys {
    private var random: [Int: String] = [:]
    private(set) var keys: [Secret] = []

    init(_ values: [ExecText]) {
        for value in values where value.isShapedKey {
            var text = ""
            for part in value.parts {
                switch part {
                case .text(let fixed): text += fixed
                case .word: text = ""
                case .shapedKey(let length):
                    if random[length] == nil {
                        let key = ClientKeys.randomText(length)
                        random[length] = key
                        keys.append(Secret(key))
                    }
                    text += key(length)
                }
            }
            if !keys.contains(Secret(text)) { keys.append(Secret(text)) }
        }
    }

    func key(_ length: Int) -> String { random[length] ?? "" }
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

extension Daemon {
    /// Lends a key for all channels to a program of this process's user.
    ///
    /// - Returns: the lease, which ends with the returned object; `nil` if the daemon is stopping.
    package func lendToOwner() -> OwnLease? {
        let process = PeerProcess(
            userID: FileTrust.user,
            processID: ProcessInfo.processInfo.processIdentifier
        )
        let peer = SocketPeer(address: "exec", process: process)
        guard case .success(let body) = lend(to: [], as: nil, peer, over: .unixSocket) else {
            return nil
        }
        return OwnLease(body)
    }
}

/// A lease in the same process as the daemon.
package final class OwnLease: Sendable {
    package let lease: ClientLease
    /// Revokes the key when it is released.
    private let body: ClientLeaseBody

    fileprivate init(_ body: ClientLeaseBody) {
        (lease, self.body) = (body.lease, body)
    }

    /// Revokes the key.
    package func end() { body.cancel() }
}
