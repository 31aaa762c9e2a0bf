import NetworkCore
import OAuth

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
        if await unsaved?.isSettled == true { unsaved = nil }
    }
}
