import NetworkCore

/// The token manager of a channel that is no more, or no longer uses it.
struct LeavingManager {
    let channel: String
    /// Lives for as long as something of it is under way.
    private(set) weak var manager: OAuthManager?
    /// The same while nobody else has its tokens: they could not be written yet.
    private var unsettled: OAuthManager?

    init(_ manager: OAuthManager, of channel: String) {
        self.channel = channel
        self.manager = manager
        unsettled = manager
    }

    /// Lets go of a manager that has nothing to lose.
    mutating func settle() async {
        if await unsettled?.isSettled == true { unsettled = nil }
    }
}

extension Daemon {
    /// Whose tokens a new manager goes on with: those of the channel so far or, where that has others,
    /// of the last one of this name that had the same and could not write them.
    func predecessor(of manager: OAuthManager, in channel: String) -> OAuthManager? {
        let present = channels.first { $0.name == channel }?.authorizer as? OAuthManager
        if let present, present.hasTokens(of: manager) { return present }
        let earlier = leaving.last {
            $0.channel == channel && $0.manager?.hasTokens(of: manager) == true
        }
        return earlier?.manager ?? present
    }

    /// Keeps an eye on the managers that other channels have no use for: a renewal may be on its way,
    /// and what could not be written is nowhere else.
    func noteLeaving(behind next: [ChannelShared]) async {
        var kept = leaving
        for channel in channels where !next.contains(where: { $0 === channel }) {
            guard let manager = channel.authorizer?.engine else { continue }
            kept.append(LeavingManager(manager, of: channel.name))
        }
        for index in kept.indices { await kept[index].settle() }
        leaving = kept.filter { $0.manager != nil }
    }
}
