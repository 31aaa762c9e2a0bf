/// Whose tokens count, where somebody else may have written to the store: those in memory, or those
/// that are stored.
///
/// Behind a look into the store, the first row that fits decides:
///
/// | the store holds | in memory | |
/// |---|---|---|
/// | what it went on to hold when it was to be forgotten | | `memory` |
/// | another client's still, and the server has given tokens to put in their place | | `memory` |
/// | another client's | | `foreign` |
/// | this client's, or nothing | nothing unsaved | `stored` |
/// | the same as at the last look | unsaved | `memory` |
/// | nothing: somebody signed out | unsaved | `stored` |
/// | what a refresh token began that is configured no longer | unsaved | `memory` |
/// | the refresh token of the last look, so only notes are new | another one | `memory` |
/// | another refresh token, or the very one in memory | unsaved | `stored` |
///
/// Behind a write that met another's, which only whoever wrote without the lock can have made:
///
/// | the store holds | |
/// |---|---|
/// | another client's | `foreign` |
/// | a refresh token unlike the one of the last look, the one presented and the one to be written | `stored` |
/// | anything else, which is older than what the server has just said | `memory` |
enum Precedence {
    /// What is in memory stays, and is written as soon as that can be done.
    case memory
    /// What is stored takes the place of what is in memory.
    case stored
    /// What is in memory may be presented, but does not take the place of another client's.
    case foreign
}

extension OAuthManager {
    /// Whose tokens count behind a look into the store.
    ///
    /// - Parameters:
    ///   - found: what it holds, of which `stored` tells already.
    ///   - before: what it held at the look before.
    /// - Returns: the verdict of the first table.
    func precedence(over found: TokenRecord?, since before: StoredState) -> Precedence {
        switch stored.owner {
        case _ where stored == forgotten: return .memory
        case .superseded: return .memory
        case .foreign: return .foreign
        case .own: break
        }
        guard isUnsaved, let record else { return .stored }
        if stored == before { return .memory }
        guard let found else { return .stored }
        if !isOfConfiguredSeed(found) { return .memory }
        let isSameFamily = stored.fingerprint == before.fingerprint
        return isSameFamily && found.refreshToken != record.refreshToken ? .memory : .stored
    }

    /// Whose tokens count behind a write that met another's.
    ///
    /// - Parameters:
    ///   - found: what the store holds, of which `stored` tells already.
    ///   - before: what it held at the last look.
    ///   - known: the refresh tokens that are no news.
    /// - Returns: the verdict of the second table.
    func precedence(
        inConflictWith found: TokenRecord?,
        since before: StoredState,
        knowing known: [Secret?]
    ) -> Precedence {
        guard stored.owner == .own else { return .foreign }
        guard let found, let token = found.refreshToken, isOfConfiguredSeed(found) else {
            return .memory
        }
        let isNews = stored.fingerprint != before.fingerprint && !known.contains(token)
        return isNews ? .stored : .memory
    }
}
