import NetworkCore

/// The choice between the tokens in memory and the stored ones when another process may have written to
/// the store.
///
/// After reading the store, the first row that matches decides:
///
/// | the store holds | in memory | |
/// |---|---|---|
/// | a record that was to be removed | | `keepMemory` |
/// | another client's tokens, and the server has issued new ones to replace them | | `keepMemory` |
/// | another client's tokens | | `foreign` |
/// | the same as when it was last read | unsaved | `keepMemory` |
/// | no record after an earlier one, although nobody has signed out | any tokens | `lost` |
/// | a lower revision of a session than one seen before | | `outdated` |
/// | this client's tokens, or no record | all saved | `takeStored` |
/// | a sign-out | unsaved | `takeStored` |
/// | tokens obtained with a refresh token that is no longer configured | unsaved | `keepMemory` |
/// | the same refresh token as when last read, so only its notes are new | another refresh token | `keepMemory` |
/// | another refresh token, or the one in memory | unsaved | `takeStored` |
///
/// This table does not apply to a store whose content was set aside: the record in memory counts then, see
/// `TokenLedger.Change.storeLost`.
///
/// After a conflicting write, which only a process without the lock can cause:
///
/// | the store holds | |
/// |---|---|
/// | another client's tokens | `foreign` |
/// | a sign-out | `takeStored` |
/// | a refresh token other than the one last read, the one presented and the one to be written | `takeStored` |
/// | anything else, which is older than the response of the server | `keepMemory` |
enum StoreReconciliation {
    /// The record in memory counts, and is written as soon as possible.
    case keepMemory
    /// The stored record replaces the one in memory.
    case takeStored
    /// The stored record has disappeared: the one in memory counts, and is written as soon as possible.
    case lost
    /// The stored record is an older copy: the one in memory counts, if there is one, and is written as
    /// soon as possible.
    case outdated
    /// The record in memory may be presented, but does not replace another client's tokens.
    case foreign
}

extension TokenLedger {
    /// Returns the record that counts after reading the store, by the first table.
    ///
    /// - Parameters:
    ///   - found: the stored record, which `stored` describes already.
    ///   - before: the state at the reading before.
    /// - Returns: the record that counts.
    func reconciliation(
        with found: TokenRecord?,
        since before: StoredState
    ) -> StoreReconciliation {
        switch stored.owner {
        case _ where stored == forgotten: return .keepMemory
        case .superseded: return .keepMemory
        case .foreign: return .foreign
        case .own: break
        }
        if isUnsaved, stored == before { return .keepMemory }
        guard let found else { return record == nil ? .takeStored : .lost }
        if isOutdated(found) { return .outdated }
        guard isUnsaved, let record, !found.isSignedOut else { return .takeStored }
        if !configuration.isOfConfiguredSeed(found) { return .keepMemory }
        let isSameFamily = stored.fingerprint == before.fingerprint
        return isSameFamily && found.refreshToken != record.refreshToken ? .keepMemory : .takeStored
    }

    /// Returns the record that counts after a conflicting write, by the second table.
    ///
    /// - Parameters:
    ///   - found: the stored record, which `stored` describes already.
    ///   - draft: the draft that was to be written.
    /// - Returns: the record that counts.
    func reconciliation(
        ofConflictWith found: TokenRecord?,
        saving draft: Draft
    ) -> StoreReconciliation {
        guard stored.owner == .own else { return .foreign }
        if let found, found.isSignedOut, !isOutdated(found) { return .takeStored }
        guard let found, let token = found.refreshToken, !isOutdated(found),
            configuration.isOfConfiguredSeed(found)
        else { return .keepMemory }
        let isKnown = token == draft.presented || token == draft.record.refreshToken
        let isNews = stored.fingerprint != draft.expected.fingerprint && !isKnown
        return isNews ? .takeStored : .keepMemory
    }
}

/// The state of a store when it was last read.
struct StoredState: Equatable {
    /// The owner of the tokens.
    enum Owner {
        /// This client, also of an empty store.
        case own
        /// Another client's or token endpoint's, as after a mistake in the configuration: they stay
        /// until the server has issued tokens to replace them.
        case foreign
        /// As `foreign`, but the server has issued tokens since, which replace them at the next write.
        case superseded
    }

    /// The revision for compare-and-swap; 0 for an empty store.
    private(set) var revision = 0
    /// The fingerprint of the refresh token.
    private(set) var fingerprint: String?
    /// The owner of the tokens.
    var owner = Owner.own

    /// An empty store.
    init() {}

    /// The state of a store with a record, for the client and token endpoint of `authority`.
    ///
    /// - Parameters:
    ///   - record: the stored record.
    ///   - authority: the authority of the reading client.
    ///   - before: the state at the reading before.
    init(_ record: TokenRecord?, authority: String, since before: StoredState = StoredState()) {
        guard let record else { return }
        revision = record.revision
        fingerprint = record.refreshToken.map(TokenRecord.fingerprint)
        guard record.authority != authority else { return }
        let isReplaced = before.owner == .superseded && before.revision == revision
        owner = isReplaced ? .superseded : .foreign
    }

    /// Whether nothing was written in between, regardless of whose tokens they are.
    ///
    /// Revisions restart after a sign-out, so the fingerprint counts too.
    func isSame(as other: StoredState) -> Bool {
        revision == other.revision && fingerprint == other.fingerprint
    }
}
