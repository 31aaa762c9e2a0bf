import NetworkCore
import OAuth

/// The channels in force, and the token managers that earlier channels have left.
struct ChannelSet: Sendable {
    /// In the order of the configuration.
    private(set) var channels: [ChannelShared] = []
    private var retiring: [RetiringOAuthManager] = []

    var names: [String] { channels.map(\.name) }

    /// The channel with a name.
    subscript(name: String) -> ChannelShared? {
        channels.first { $0.name == name }
    }

    /// The token manager of a channel, if it has one.
    func manager(of name: String) -> OAuthManager? {
        self[name]?.authorizer?.engine
    }

    // MARK: - Replacing

    /// Returns the set after a reload, and the new token managers, which are to be started.
    ///
    /// Each of them has taken over from the one before it. Call it only once nothing can fail: a reload that is refused must leave the tokens alone.
    func replaced(
        with next: [ChannelShared]
    ) async -> (set: ChannelSet, started: [OAuthManager]) {
        var managers: [OAuthManager] = []
        for channel in next where !channels.contains(where: { $0 === channel }) {
            guard let manager = channel.authorizer as? OAuthManager else { continue }
            if let other = predecessor(of: manager, in: channel.name) {
                await manager.takeOver(from: other)
            }
            managers.append(manager)
        }
        var set = self
        set.channels = next
        set.retiring = await retired(by: next)
        return (set, managers)
    }

    /// The manager whose tokens a new one goes on with: the channel's present one or, where that has
    /// the tokens of another account, the last one of this name that had the same tokens and could not
    /// write them.
    private func predecessor(of manager: OAuthManager, in channel: String) -> OAuthManager? {
        let present = self[channel]?.authorizer as? OAuthManager
        if let present, present.hasTokens(of: manager) { return present }
        let earlier = retiring.last {
            $0.channel == channel && $0.manager?.hasTokens(of: manager) == true
        }
        return earlier?.manager ?? present
    }

    /// The managers that the next channels do not use: a renewal may be under way, and tokens that
    /// could not be written exist nowhere else.
    private func retired(by next: [ChannelShared]) async -> [RetiringOAuthManager] {
        var kept = retiring
        for channel in channels where !next.contains(where: { $0 === channel }) {
            guard let manager = channel.authorizer?.engine else { continue }
            kept.append(RetiringOAuthManager(manager, of: channel.name))
        }
        for index in kept.indices { await kept[index].releaseIfSaved() }
        return kept.filter { $0.manager != nil }
    }

    // MARK: - Ending

    /// Waits for renewals under way, so that no rotated refresh token is lost.
    ///
    /// - Returns: the channels whose newest refresh token could not be stored by then.
    func finishRenewals(until end: ContinuousClock.Instant) async -> [String] {
        let serving = channels.compactMap { channel in
            channel.authorizer?.engine.map { (channel: channel.name, manager: $0) }
        }
        let left = retiring.compactMap { retiring in
            retiring.manager.map { (channel: retiring.channel, manager: $0) }
        }
        return await withTaskGroup(of: String?.self) { group in
            for (channel, manager) in serving + left {
                group.addTask { await manager.finishRenewal(until: end) ? nil : channel }
            }
            return await group.reduce(into: []) { lost, channel in
                if let channel { lost.append(channel) }
            }
        }
    }
}

/// The token manager of a channel that was removed, or that a reload gave another manager.
struct RetiringOAuthManager {
    let channel: String
    /// `nil` once none of its work is under way any more.
    private(set) weak var manager: OAuthManager?
    /// Keeps the manager alive while its tokens are nowhere else: they could not be written yet.
    private var unsaved: OAuthManager?

    init(_ manager: OAuthManager, of channel: String) {
        self.channel = channel
        self.manager = manager
        unsaved = manager
    }

    /// Releases the manager if it has nothing to lose.
    mutating func releaseIfSaved() async {
        if await unsaved?.isSaved == true { unsaved = nil }
    }
}
