import NetworkCore

/// What is known of a credential's tokens beyond the one in use: the record in memory, what the store
/// held when it was looked at last, and which of the two counts.
///
/// Its manager's own, which decides when the store is read and under which lock. Not `Sendable`.
final class TokenLedger {
    private let store: any TokenStoring
    private let configuration: OAuthConfiguration
    /// What is stored, or should be; never another client's.
    private(set) var record: TokenRecord?
    /// What the store held when it was looked at last.
    private(set) var stored = StoredState()
    /// What the store went on to hold when it was to be forgotten.
    private var forgotten: StoredState?
    /// Whether `record` could not be written.
    private(set) var isUnsaved = false
    /// The fingerprint of a configured refresh token that is spent, though no record says so any more.
    private var spentSeed: String?

    init(_ store: any TokenStoring, _ configuration: OAuthConfiguration) {
        self.store = store
        self.configuration = configuration
    }

    /// The record to change next.
    var workingRecord: TokenRecord {
        record ?? TokenRecord(authority: configuration.authority)
    }

    // MARK: - Looking

    /// Takes note of what the store holds.
    ///
    /// - Returns: whose tokens count now.
    func learn(_ found: TokenRecord?) -> Precedence {
        let before = stored
        stored = StoredState(found, authority: configuration.authority, since: before)
        let precedence = precedence(over: found, since: before)
        switch precedence {
        case .memory: break
        case .foreign: isUnsaved = false
        case .stored:
            isUnsaved = false
            if found == nil { noteSpentSeed() }
            record = found
        }
        return precedence
    }

    /// Whether somebody has written since the last look.
    func isNews(_ found: TokenRecord?) -> Bool {
        !StoredState(found, authority: configuration.authority).isSame(as: stored)
    }

    /// Goes on with what is in memory, after what was stored was set aside: it is the newest.
    func outlast() {
        stored = StoredState()
        isUnsaved = true
    }

    // MARK: - Writing

    /// What became of a record that was to be stored.
    enum Saving {
        case stored
        /// It is in memory.
        case kept
        /// Somebody has signed in elsewhere, and that is in force.
        case overtaken
    }

    /// Writes a record in place of the one that was read; it is in memory in any case.
    ///
    /// It stays there alone while the store holds another client's tokens.
    ///
    /// - Parameters:
    ///   - next: the record.
    ///   - presented: the refresh token that its tokens were bought with.
    /// - Returns: what became of it.
    /// - Throws: what the store throws; then the record is unsaved.
    func write(_ next: TokenRecord, presented: Secret?) async throws -> Saving {
        record = next
        guard stored.owner != .foreign else { return .kept }
        let before = stored
        do {
            do {
                try await save(next)
            } catch TokenStoreError.conflict {
                // Somebody wrote without the lock.
                let theirs = try await store.load()
                stored = StoredState(theirs, authority: configuration.authority)
                let known = [presented, next.refreshToken]
                switch precedence(inConflictWith: theirs, since: before, knowing: known) {
                case .foreign: return .kept
                case .memory: try await save(next)
                case .stored:
                    record = theirs
                    isUnsaved = false
                    return .overtaken
                }
            }
            return .stored
        } catch {
            isUnsaved = true
            throw error
        }
    }

    /// Goes back to the record before one that could not be written, and is not wanted any more.
    func takeBack(to before: TokenRecord?) {
        record = before
        isUnsaved = before != nil
    }

    private func save(_ record: TokenRecord) async throws {
        var next = record
        next.revision = stored.revision + 1
        try await store.save(next, replacing: stored.revision)
        self.record = next
        stored = StoredState(next, authority: configuration.authority)
        isUnsaved = false
    }

    /// The server has given tokens to put in the place of another client's.
    func supersede() {
        if stored.owner == .foreign { stored.owner = .superseded }
    }

    /// Forgets access tokens that may be another person's.
    func dropAccessTokens() { record?.accessTokens = [:] }

    /// Whether the refresh token is nowhere but here.
    var isOnlyHolder: Bool {
        guard isUnsaved, let token = record?.refreshToken else { return false }
        return stored.owner == .foreign || stored.fingerprint != TokenRecord.fingerprint(token)
    }

    // MARK: - Changing hands

    /// Gives away what could not be written; nothing if that is nothing.
    func giveAway() -> (TokenRecord, StoredState)? {
        guard isUnsaved, let record else { return nil }
        isUnsaved = false
        return (record, stored)
    }

    /// Takes over what another could not write.
    func take(_ left: (record: TokenRecord, found: StoredState)) {
        record = left.record
        stored = left.found
        isUnsaved = true
    }

    // MARK: - Forgetting

    /// Forgets what is in memory.
    func forget() {
        noteSpentSeed()
        record = nil
        isUnsaved = false
    }

    /// The store holds nothing any more.
    func noteRemoval() {
        stored = StoredState()
        forgotten = nil
    }

    /// The store keeps what was to be forgotten; it is not taken for news.
    func disregard(_ found: TokenRecord?) {
        stored = StoredState(found, authority: configuration.authority)
        disregardStored()
    }

    /// The store keeps what was seen last, and it is not taken for news.
    func disregardStored() {
        forgotten = stored == StoredState() ? nil : stored
    }

    /// Remembers of a record that is going away that the configured refresh token has had a successor:
    /// to present it again could end the family (RFC 9700 §4.14.2).
    private func noteSpentSeed() {
        guard let record, let seed = record.seed, let successor = record.refreshToken,
            TokenRecord.fingerprint(successor) != seed
        else { return }
        spentSeed = seed
    }

    // MARK: - What to present

    /// The refresh token to present: the stored one, unless a person has configured another since.
    ///
    /// - Parameter evenSpent: whether one may be presented that is known to have had a successor that
    ///   is gone: only a person has that done.
    /// - Returns: nothing where there is none, or the grant has none.
    func refreshToken(evenSpent: Bool = false) -> Secret? {
        guard case .refreshToken(let configured) = configuration.grant else { return nil }
        guard let seed = evenSpent ? configured : unspent(configured) else {
            return record?.refreshToken
        }
        guard let record, record.seed == TokenRecord.fingerprint(seed) else { return seed }
        // Without one behind a sign-in that brought none: the configured one has had a successor.
        return record.refreshToken ?? (evenSpent ? seed : nil)
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

    // MARK: - Whose tokens count

    /// Whose tokens count behind a look into the store.
    ///
    /// - Parameters:
    ///   - found: what it holds, of which `stored` tells already.
    ///   - before: what it held at the look before.
    /// - Returns: the verdict of the first table.
    private func precedence(over found: TokenRecord?, since before: StoredState) -> Precedence {
        switch stored.owner {
        case _ where stored == forgotten: return .memory
        case .superseded: return .memory
        case .foreign: return .foreign
        case .own: break
        }
        guard isUnsaved, let record else { return .stored }
        if stored == before { return .memory }
        guard let found else { return .stored }
        if !configuration.isOfConfiguredSeed(found) { return .memory }
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
    private func precedence(
        inConflictWith found: TokenRecord?,
        since before: StoredState,
        knowing known: [Secret?]
    ) -> Precedence {
        guard stored.owner == .own else { return .foreign }
        guard let found, let token = found.refreshToken, configuration.isOfConfiguredSeed(found)
        else { return .memory }
        let isNews = stored.fingerprint != before.fingerprint && !known.contains(token)
        return isNews ? .stored : .memory
    }
}
