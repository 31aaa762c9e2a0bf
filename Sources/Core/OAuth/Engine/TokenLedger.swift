import NetworkCore

/// What is known about a credential's tokens besides the one in use: the record in memory, what the
/// store held when it was last read, and which of the two counts.
///
/// It does no input or output: `TokenStoreAccess` reads and writes what it says.
struct TokenLedger {
    let configuration: OAuthConfiguration
    /// What is stored, or should be; never another client's.
    private(set) var record: TokenRecord?
    /// What the store held when it was last read.
    private(set) var stored = StoredState()
    /// What the store still held after its tokens were to be removed.
    private(set) var forgotten: StoredState?
    /// Whether `record` could not be written.
    private(set) var isUnsaved = false
    /// Whether the store could not be read when that was last tried.
    private(set) var lookFailed = false
    /// The fingerprint of a configured refresh token that was replaced by one which is gone.
    private var spentSeed: String?

    init(_ configuration: OAuthConfiguration) {
        self.configuration = configuration
    }

    // MARK: - Reading

    /// Takes note of what the store holds.
    ///
    /// - Returns: which record counts now.
    mutating func learn(_ found: TokenRecord?) -> StoreReconciliation {
        let before = stored
        stored = StoredState(found, authority: configuration.authority, since: before)
        let result = reconciliation(with: found, since: before)
        lookFailed = false
        switch result {
        case .keepMemory: break
        case .foreign: isUnsaved = false
        case .takeStored:
            isUnsaved = false
            if found == nil { noteSpentSeed() }
            record = found
        }
        return result
    }

    /// Whether the store was written to since it was last read.
    func isNews(_ found: TokenRecord?) -> Bool {
        !StoredState(found, authority: configuration.authority).isSame(as: stored)
    }

    /// Notes that the store could not be read.
    mutating func noteFailedLook() { lookFailed = true }

    /// Keeps the record in memory after the stored one was unreadable and set aside, or was removed with
    /// the whole store: it is the newest.
    mutating func noteStoreLost() {
        stored = StoredState()
        isUnsaved = record != nil
    }

    // MARK: - Writing

    /// What became of a record that was to be stored.
    enum Saving {
        case stored
        /// It is in memory only.
        case kept
        /// Someone has signed in elsewhere, and that sign-in counts.
        case overtaken
    }

    /// A record to be written in place of the one that was read.
    struct Draft {
        let record: TokenRecord
        /// What the store is expected to hold.
        let expected: StoredState
        /// The refresh token that the tokens of the record were obtained with.
        let presented: Secret?
    }

    /// Puts a record in place of the one in memory.
    ///
    /// - Parameters:
    ///   - next: the record.
    ///   - presented: the refresh token that its tokens were obtained with.
    /// - Returns: what to write; `nil` while the store holds another client's tokens.
    mutating func stage(_ next: TokenRecord, presented: Secret?) -> Draft? {
        record = next
        guard stored.owner != .foreign else { return nil }
        return draft(next, presented)
    }

    private func draft(_ record: TokenRecord, _ presented: Secret?) -> Draft {
        var next = record
        next.revision = stored.revision + 1
        return Draft(record: next, expected: stored, presented: presented)
    }

    /// Notes that a record was written.
    mutating func noteSaved(_ draft: Draft) {
        record = draft.record
        stored = StoredState(draft.record, authority: configuration.authority)
        isUnsaved = false
    }

    /// Notes that the record in memory could not be written.
    mutating func noteUnsaved() { isUnsaved = true }

    /// What follows from a write that met another process's.
    enum Conflict {
        /// The record is written over what is stored.
        case saveAgain(Draft)
        /// The store now holds another client's tokens: the record stays in memory.
        case foreign
        /// The stored record counts, and has replaced the one in memory.
        case overtaken
    }

    /// Decides whether to write over what another process has written without the lock.
    mutating func resolveConflict(saving draft: Draft, found: TokenRecord?) -> Conflict {
        stored = StoredState(found, authority: configuration.authority)
        switch reconciliation(ofConflictWith: found, saving: draft) {
        case .foreign: return .foreign
        case .keepMemory: return .saveAgain(self.draft(draft.record, draft.presented))
        case .takeStored:
            record = found
            isUnsaved = false
            return .overtaken
        }
    }

    /// Goes back to the record before one that could not be written and is not needed any more.
    ///
    /// - Parameters:
    ///   - before: the record.
    ///   - isUnsaved: whether to write it; by default wherever there is one, so that it is noticed when
    ///     the store works again.
    mutating func restore(_ before: TokenRecord?, _ isUnsaved: Bool? = nil) {
        record = before
        self.isUnsaved = isUnsaved ?? (before != nil)
    }

    /// Notes that the server has issued tokens to replace another client's.
    mutating func supersede() {
        if stored.owner == .foreign { stored.owner = .superseded }
    }

    /// Forgets access tokens that may be another user's.
    mutating func dropAccessTokens() { record?.accessTokens = [:] }

    /// Whether the refresh token exists nowhere else.
    var isOnlyHolder: Bool {
        guard isUnsaved, let token = record?.refreshToken else { return false }
        return stored.owner == .foreign || stored.fingerprint != TokenRecord.fingerprint(token)
    }

    // MARK: - Handing over

    /// Gives the record that could not be written to a successor; `nil` if all is written.
    mutating func handOver() -> (TokenRecord, StoredState)? {
        guard isUnsaved, let record else { return nil }
        isUnsaved = false
        return (record, stored)
    }

    /// Takes over what a predecessor could not write.
    mutating func takeOver(_ unsaved: TokenRecord, found stored: StoredState) {
        record = unsaved
        self.stored = stored
        isUnsaved = true
    }

    // MARK: - Forgetting

    /// Forgets what is in memory.
    mutating func forget() {
        noteSpentSeed()
        record = nil
        isUnsaved = false
    }

    /// Notes that the store is empty.
    mutating func noteRemoval() {
        stored = StoredState()
        forgotten = nil
    }

    /// Notes that the store keeps tokens that were to be removed: they are not news.
    mutating func disregard(_ found: TokenRecord?) {
        stored = StoredState(found, authority: configuration.authority)
        disregardStored()
    }

    /// Notes that the store keeps what was last read, although it was to be removed: it is not news.
    mutating func disregardStored() {
        forgotten = stored == StoredState() ? nil : stored
    }

    /// Remembers, of a record that goes away, that the configured refresh token was replaced: to present
    /// it again could revoke the family (RFC 9700 §4.14.2).
    private mutating func noteSpentSeed() {
        guard let record, let seed = record.seed, let successor = record.refreshToken,
            TokenRecord.fingerprint(successor) != seed
        else { return }
        spentSeed = seed
    }

    // MARK: - What to present

    /// The refresh token to present: the stored one, unless another has been configured since.
    ///
    /// - Parameter reason: why it is presented; only a forced renewal presents one whose successor is
    ///   known to be gone.
    /// - Returns: `nil` without one, or if the grant has none.
    func refreshToken(for reason: OAuthEvent.Reason? = nil) -> Secret? {
        guard case .refreshToken(let configured) = configuration.grant else { return nil }
        let isForced = reason == .forced
        guard let seed = isForced ? configured : unspent(configured) else {
            return record?.refreshToken
        }
        guard let record, record.seed == TokenRecord.fingerprint(seed) else { return seed }
        // A sign-in may have brought none: then the configured one was replaced.
        return record.refreshToken ?? (isForced ? seed : nil)
    }

    private func unspent(_ seed: Secret?) -> Secret? {
        guard let seed, spentSeed != nil, record?.seed == nil else { return seed }
        return spentSeed == TokenRecord.fingerprint(seed) ? nil : seed
    }

    /// Why a refresh token is kept and not used, if it is the one in quarantine.
    func quarantine(of token: Secret) -> TokenRecord.Quarantine? {
        guard let quarantine = record?.quarantine,
            quarantine.fingerprint == TokenRecord.fingerprint(token)
        else { return nil }
        return quarantine
    }

    /// The note of an earlier presentation of the token whose outcome is not known.
    func openIntent(for token: Secret) -> TokenRecord.Intent? {
        guard let intent = record?.intent, intent.fingerprint == TokenRecord.fingerprint(token)
        else { return nil }
        return intent
    }

    /// What to present for a renewal.
    enum NextGrant {
        case refreshToken(Secret)
        /// The refresh token is known not to be accepted any more.
        case dead(OAuthFailure)
        /// There is no refresh token.
        case missing
        /// No earlier presentation has an unknown outcome.
        case nothingToDo
    }

    /// The stored or configured refresh token, or why none is presented.
    func nextRefreshToken(for reason: OAuthEvent.Reason) -> NextGrant {
        guard let token = refreshToken(for: reason) else {
            return reason == .recovery ? .nothingToDo : .missing
        }
        if reason == .recovery, openIntent(for: token) == nil { return .nothingToDo }
        if reason != .forced, let quarantine = quarantine(of: token) {
            return .dead(
                OAuthFailure(
                    kind: TokenFailure.Class.invalidGrant.rawValue,
                    detail: quarantine.reason,
                    serverError: TokenFailure.Class.invalidGrant.rawValue,
                    at: quarantine.since
                )
            )
        }
        return .refreshToken(token)
    }
}
