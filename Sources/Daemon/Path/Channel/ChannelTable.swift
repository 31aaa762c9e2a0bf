package import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
package import NetproxyRequestLog
import NetworkCore

/// The channels of a configuration on one loop.
///
/// Not `Sendable`.
package final class ChannelTable {
    let router: Router
    package let channels: [Channel]
    /// The log for requests without a channel.
    package let ownLog: LogBuffer
    /// The keys that open any of the channels.
    let keys: KnownKeys
    /// The forward proxy for requests without a channel.
    package let forward: ForwardProxy
    /// Whether any channel refuses its requests.
    let hasOutages: Bool

    init(
        router: Router,
        channels: [Channel],
        ownLog: LogBuffer,
        keys: KnownKeys = KnownKeys([]),
        forward: ForwardProxy
    ) {
        self.router = router
        self.channels = channels
        self.ownLog = ownLog
        self.keys = keys
        self.forward = forward
        hasOutages = channels.contains { $0.rules.outage != nil }
    }

    /// Returns the origin of the page that sends a request, if any channel lists it.
    func listedOrigin(of headers: HTTPHeaders) -> String? {
        channels.lazy.compactMap { $0.access.pages.listedOrigin(of: headers) }.first
    }

    /// Returns the outage of a request's channel, if it has one.
    func outage(for head: RequestHead, dedicated: String?) -> ChannelOutage? {
        do throws(NetworkError) {
            return channels[try router.route(head, dedicated: dedicated).channel].rules.outage
        } catch {
            // The error is reported when the request is handled.
            return nil
        }
    }

    /// Whether a channel claims the host.
    func isChannelHost(_ host: Authority) -> Bool {
        router.isChannelHost(host.host)
    }
}

/// The plan from which every loop creates its table of channels.
package struct ChannelTablePlan: Sendable {
    package let channels: [ChannelRules]
    /// The number of loops that share the channels' connections.
    package let loops: Int
    private let router: Router
    private let forwarding: ForwardProxy.Settings
    private let ownLog: ChannelLog
    private let keys: KnownKeys

    package init(
        _ channels: [ChannelRules],
        forwarding: ForwardProxy.Settings,
        ownLog: ChannelLog,
        loops: Int
    ) {
        self.channels = channels
        self.forwarding = forwarding
        self.ownLog = ownLog
        self.loops = loops
        router = Router(channels.map(\.configuration))
        keys = KnownKeys(channels.map(\.access))
    }

    /// Creates the table of a loop; call it on the loop.
    ///
    /// - Parameters:
    ///   - loop: the loop.
    ///   - present: the current table; the table keeps the channels that it shares with the plan.
    ///   - prepared: channels created in advance.
    /// - Returns: the table.
    package func table(
        on loop: EventLoop,
        keeping present: ChannelTable? = nil,
        prepared: [Channel] = []
    ) -> ChannelTable {
        var known: [ObjectIdentifier: Channel] = [:]
        for channel in present?.channels ?? [] { known[ObjectIdentifier(channel.rules)] = channel }
        for channel in prepared { known[ObjectIdentifier(channel.rules)] = channel }
        return ChannelTable(
            router: router,
            channels: channels.map { rules in
                known[ObjectIdentifier(rules)] ?? Channel(rules, on: loop, loops: loops)
            },
            ownLog: present?.ownLog ?? LogBuffer(ownLog),
            keys: keys,
            forward: present.flatMap { $0.forward.settings == forwarding ? $0.forward : nil }
                ?? ForwardProxy(forwarding, on: loop)
        )
    }
}
