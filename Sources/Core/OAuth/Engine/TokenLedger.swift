import NetworkCore

/// The record of a credential's tokens: in memory, in the store when it was last read, and which of the two
/// counts.
///
/// A value inside `TokenEngine`. `TokenStoreAccess` reads and writes the store.
struct TokenLedger {
    let configuration: OAuthConfiguration
    /// The record to store, never another client's.
    private(set) var record: TokenRecord?
    /// The state of the store when it was last read.
    private(set) var stored = StoredState()
    /// The state of a store that kept its tokens when they were to be removed.
    private(set) var forgotten: StoredState?
    /// Whether `record` could not be written.
    private(set) var isUnsaved = false
    /// The highest seen revision of each session.
    private(set) var revisions: [String: Int] = [:]
    /// The fingerprint of a configured refresh token whose successor is gone.
    private var spentSeed: String?

    init(_ configuration: OAuthConfiguration) {
        self.configuration = configuration
    }

    // MARK: - Reading

    /// Compares the record in memory with the stored one.
    ///
    /// - Returns: the record that counts now.
    mutating func learn(_ found: TokenRecord?) -> StoreReconciliation {
        let before = stored
        stored = StoredState(found, authority: configuration.authority, since: before)
        let result = reconciliation(with: found, since: before)
        switch result {
        case .keepMemory: break
        case .lost, .outdated: isUnsaved = record != nil
        case .foreign:
            isUnsaved = false
            return result
        case .takeStored:
            isUnsaved = false
            retireSession(before: found)
            record = found
        }
        if let found { note(found) }
        return result
    }

    // MARK: - Revisions

    /// Learns the revisions that an earlier process or another one has seen.
    mutating func learn(revisions others: [String: Int]) {
        revisions.merge(others) { max($0, $1) }
    }

    private mutating func note(_ record: TokenRecord) {
        learn(revisions: [TokenLedger.name(of: record): record.revision])
    }

    /// Makes the record in memory an older copy if the next one belongs to a later session.
    private mutating func retireSession(before next: TokenRecord?) {
        guard let record, let next, record.session != next.session else { return }
        learn(revisions: [TokenLedger.name(of: record): record.revision + 1])
    }

    /// Whether a record is below a revision of its session that was seen before.
    func isOutdated(_ record: TokenRecord) -> Bool {
        revisions[TokenLedger.name(of: record)].map { record.revision < $0 } ?? false
    }

    /// Whether a later record than the one in memory has been seen: its refresh token may be spent.
    var isOutdated: Bool { record.map(isOutdated) ?? false }

    /// The name of a record's session in `revisions`.
    private static func name(of record: TokenRecord) -> String {
        TokenRecord.name(ofSession: record.session)
    }

    /// Whether the store was written to since it was last read.
    func isNews(_ found: TokenRecord?) -> Bool {
        !StoredState(found, authority: configuration.authority).isSame(as: stored)
    }

    // MARK: - Writing

    /// The result of storing a record.
    enum Saving {
        case stored
        /// The record is in memory only.
        case kept
        /// The sign-in of another process counts instead.
        case overtaken
    }

    /// A record to write over the one that was read.
    struct Draft {
        let record: TokenRecord
        /// The expected state of the store.
        let expected: StoredState
        /// The refresh token that the tokens of the record were obtained with.
        let presented: Secret?
    }

    /// Replaces the record in memory.
    ///
    /// - Parameters:
    ///   - next: the record.
    ///   - presented: the refresh token that its tokens were obtained with.
    /// - Returns: the draft to write; `nil` while the store holds another client's tokens.
    mutating func stage(_ next: TokenRecord, presented: Secret?) -> Draft? {
        retireSession(before: next)
        record = next
        guard stored.owner != .foreign else { return nil }
        return draft(next, presented)
    }

    private func draft(_ record: TokenRecord, _ presented: Secret?) -> Draft {
        var next = record
        let highest = revisions[TokenLedger.name(of: record)] ?? 0
        next.revision = max(stored.revision, highest) + 1
        return Draft(record: next, expected: stored, presented: presented)
    }

    /// The consequence of a write that met another process's.
    enum Conflict {
        /// The draft replaces the stored record.
        case saveAgain(Draft)
        /// The store now holds another client's tokens: the record stays in memory.
        case foreign
        /// The stored record counts, and has replaced the one in memory.
        case overtaken
    }

    /// Decides whether to write over a record that another process has written without the lock.
    mutating func resolveConflict(saving draft: Draft, found: TokenRecord?) -> Conflict {
        stored = StoredState(found, authority: configuration.authority)
        switch reconciliation(ofConflictWith: found, saving: draft) {
        case .foreign: return .foreign
        case .keepMemory, .lost, .outdated:
            return .saveAgain(self.draft(draft.record, draft.presented))
        case .takeStored:
            record = found
            isUnsaved = false
            if let found { note(found) }
            return .overtaken
        }
    }

    /// Whether another process would present a refresh token that was already presented.
    ///
    /// The record in memory, which could not be written, has its successor or the note of the presentation.
    var mustKeepLock: Bool {
        // Another process may have the later record, and must be able to write it.
        !isOutdated && (isOnlyHolder || (isUnsaved && record?.intent != nil))
    }

    /// Whether the refresh token exists nowhere else.
    var isOnlyHolder: Bool {
        guard isUnsaved, let token = record?.refreshToken else { return false }
        return stored.owner == .foreign || stored.fingerprint != TokenRecord.fingerprint(token)
    }

    // MARK: - Changes

    /// The record at one time, to which the ledger can go back.
    struct Bookmark {
        let record: TokenRecord?
        let isUnsaved: Bool

        /// The same record, written again so that a repaired store is noticed.
        var writtenAgain: Bookmark { Bookmark(record: record, isUnsaved: record != nil) }
    }

    /// The record as it is now.
    var bookmark: Bookmark { Bookmark(record: record, isUnsaved: isUnsaved) }

    /// A change of the record or the store.
    enum Change {
        /// A draft was written.
        case saved(Draft)
        /// The record in memory could not be written.
        case unsaved
        /// The stored record was set aside as corrupt: the record in memory is the newest.
        case storeLost
        /// The record of a sign-out was written; `nil` if the store had no tokens.
        case removed(TokenRecord?)
        /// The store keeps this record although it was to be removed; it is not news.
        case notRemoved(TokenRecord?)
        /// The store could neither remove nor read its record.
        case removalUnknown
        /// The server has issued tokens to replace another client's.
        case superseded
        /// The access tokens may be another user's.
        case accessTokensDropped
        /// A record that could not be written is not needed any more.
        case withdrawn(to: Bookmark)
        /// A predecessor could not write this record.
        case inherited(TokenRecord, found: StoredState)
        /// The record in memory is to be forgotten.
        case forgotten
    }

    /// Changes the record, or the known state of the store.
    mutating func apply(_ change: Change) {
        switch change {
        case .saved(let draft):
            record = draft.record
            stored = StoredState(draft.record, authority: configuration.authority)
            isUnsaved = false
            note(draft.record)
        case .unsaved: isUnsaved = true
        case .storeLost:
            stored = StoredState()
            isUnsaved = record != nil
        case .removed(let signOut):
            stored = StoredState(signOut, authority: configuration.authority)
            forgotten = nil
            if let signOut { note(signOut) }
        case .notRemoved(let found):
            stored = StoredState(found, authority: configuration.authority)
            forgotten = stored == StoredState() ? nil : stored
        case .removalUnknown: forgotten = stored == StoredState() ? nil : stored
        case .superseded: if stored.owner == .foreign { stored.owner = .superseded }
        case .accessTokensDropped: record?.accessTokens = [:]
        case .withdrawn(let before): (record, isUnsaved) = (before.record, before.isUnsaved)
        case .inherited(let unsaved, let found):
            (record, stored, isUnsaved) = (unsaved, found, true)
        case .forgotten:
            noteSpentSeed()
            (record, isUnsaved) = (nil, false)
        }
    }

    /// Returns the record that could not be written, for a successor; `nil` if all is written.
    mutating func handOver() -> (TokenRecord, StoredState)? {
        guard isUnsaved, let record else { return nil }
        isUnsaved = false
        return (record, stored)
    }

    /// Remembers, of a record that goes away, that the configured refresh token was replaced: to present
    /// it again could revoke the family (RFC 9700 §4.14.2).
    private mutating func noteSpentSeed() {
        guard let record, let seed = record.seed, let successor = record.refreshToken,
            TokenRecord.fingerprint(successor) != seed
        else { return }
        spentSeed = seed
    }

    // MARK: - The refresh token

    /// The refresh token to present: the stored one, unless another has been configured since.
    ///
    /// - Parameter reason: the reason of the renewal; only a forced one presents a configured refresh token
    ///   whose successor is gone.
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

    /// The reason for which a refresh token is not used, if it is the one in quarantine.
    func quarantine(of token: Secret) -> TokenRecord.Quarantine? {
        guard let quarantine = record?.quarantine,
            quarantine.fingerprint == TokenRecord.fingerprint(token)
        else { return nil }
        return quarantine
    }

    /// The note of an earlier presentation of the token with an unknown outcome.
    func openIntent(for token: Secret) -> TokenRecord.Intent? {
        guard let intent = record?.intent, intent.fingerprint == TokenRecord.fingerprint(token)
        else { return nil }
        return intent
    }

    /// The refresh token for a renewal, or the reason for which none is presented.
    enum Candidate {
        case refreshToken(Secret)
        /// The server does not accept the refresh token any more.
        case dead(OAuthFailure)
        /// No refresh token is known.
        case missing
        /// No earlier presentation has an unknown outcome.
        case nothingToDo
    }

    /// Returns the stored or configured refresh token, or the reason for which none is presented.
    func candidate(for reason: OAuthEvent.Reason) -> Candidate {
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
