import NetworkCore

/// Reads and writes the token store for a manager, as its engine's ledger decides.
struct TokenStoreAccess: Sendable {
    let store: any TokenStoring
    let configuration: OAuthConfiguration
    let clock: any NetworkClock

    // MARK: - Reading

    /// Reads the stored record, under the lock if there is one.
    ///
    /// - Throws: `TokenStoreError` if a refresh token would be presented that may not be in force: it is
    ///   presented only if that was just read under the lock. `NetworkError` of kind `.cancelled`.
    func read(under lock: TokenStoreLock?, for manager: isolated OAuthManager) async throws {
        try await inherit(under: lock, for: manager)
        var found: TokenRecord?
        do {
            found = try await store.load(under: lock)
            noteService(of: manager)
        } catch TokenStoreError.corrupt(let path) {
            report(TokenStoreError.corrupt(movedTo: path), to: manager)
            if manager.engine.record != nil { return keepMemory(of: manager) }
        } catch {
            report(error, to: manager)
            if presentsStoredTokens { throw error }
            return
        }
        await learnRevisions(for: manager)
        let result = manager.decide { engine, now in
            engine.postponeStoreCheck(at: now)
            return engine.learn(found)
        }
        guard presentsStoredTokens else { return }
        if manager.engine.isOutdated || (result == .outdated && manager.engine.record == nil) {
            throw TokenStoreError.outdated(
                "the stored tokens are an older copy of those used here, and their refresh token may be "
                    + "spent; restore the newer ones, or sign in again"
            )
        }
        await keepRevisions(for: manager)
    }

    /// Whether a renewal presents a stored refresh token.
    var presentsStoredTokens: Bool {
        if case .refreshToken = configuration.grant { true } else { false }
    }

    /// Learns the revisions that an earlier process or another one of this machine has seen.
    private func learnRevisions(for manager: isolated OAuthManager) async {
        guard presentsStoredTokens else { return }
        let revisions = await store.revisions()
        manager.decide { engine, _ in engine.learn(revisions: revisions) }
    }

    /// Keeps the highest revisions for the next start.
    private func keepRevisions(for manager: isolated OAuthManager) async {
        let revisions = manager.engine.revisions
        guard presentsStoredTokens, manager.keptRevisions != revisions else { return }
        manager.keptRevisions = revisions
        await store.keepRevisions(revisions)
    }

    /// Takes the lock, or the one that stayed held; `nil` if another process has stored a record meanwhile.
    ///
    /// - Throws: `TokenStoreError`, `CancellationError`.
    func lock(
        until limit: ContinuousClock.Instant,
        _ condition: LockCondition,
        for manager: isolated OAuthManager
    ) async throws -> TokenStoreLock? {
        while true {
            if let kept = await manager.takeKeptLock() { return kept }
            // The lock may stay held by this manager or the one before it.
            let mayBeKept = manager.isUnsaved || manager.predecessor != nil
            let end = mayBeKept ? min(limit, clock.now + .seconds(1)) : limit
            do {
                switch condition {
                case .always: return try await store.lock(until: end, clock: clock)
                case .unlessChanged:
                    return try await store.lockUnlessChanged(until: end, clock: clock)
                }
            } catch TokenStoreError.locked(let name) {
                guard end < limit, clock.now >= end else { throw TokenStoreError.locked(name) }
            }
        }
    }

    /// The condition for taking the lock.
    enum LockCondition {
        case always
        /// Not if another process has stored a record meanwhile.
        case unlessChanged
    }

    /// Keeps the record in memory, which is the newest, and writes it again.
    private func keepMemory(of manager: isolated OAuthManager) {
        manager.decide { engine, now in
            engine.apply(.storeLost)
            engine.postponeStoreCheck(at: now)
        }
        manager.saveLater()
    }

    /// Adopts a good stored token of another manager or process before the lock is taken, if no token
    /// is known yet: another process may hold the lock while a slow server responds.
    ///
    /// - Returns: the end of the renewal; `nil` if it continues under the lock.
    func adoptAtFirstSight(
        for reason: OAuthEvent.Reason,
        by manager: isolated OAuthManager
    ) async -> RenewalOutcome? {
        guard manager.knowsNoToken, reason != .forced else { return nil }
        if let predecessor = manager.predecessor {
            // A start continues to the lock, and takes over the record of the predecessor.
            guard reason == .recovery, await !predecessor.isUnsaved else { return nil }
        }
        await learnRevisions(for: manager)
        // Failures are judged under the lock.
        guard let found = try? await store.load(), !manager.engine.hasHandedOver,
            manager.knowsNoToken
        else { return nil }
        let adopted = manager.decide { engine, now -> RenewalOutcome? in
            guard engine.learn(found) == .takeStored else { return nil }
            engine.postponeStoreCheck(at: now)
            return engine.adopt(for: reason, manager.jitter(), at: now)
        }
        return manager.predecessor == nil ? adopted : nil
    }

    /// Reads a shared store without its lock if nothing is known that could be presented: machines that
    /// start at the same time, or whose user must sign in, do not queue for the lock.
    ///
    /// - Returns: the end of the renewal; `nil` if it continues under the lock.
    /// - Throws: `TokenStoreError`; the lock would fail too.
    func settleWithoutLock(
        for reason: OAuthEvent.Reason,
        by manager: isolated OAuthManager
    ) async throws -> RenewalOutcome? {
        guard store.isShared, manager.predecessor == nil,
            manager.engine.hasNothingToPresent(for: reason)
        else { return nil }
        return try await settle(for: reason, by: manager)
    }

    /// Reads the stored record without the lock.
    ///
    /// - Returns: the end of the renewal; `nil` if it needs a request.
    private func settle(
        for reason: OAuthEvent.Reason,
        by manager: isolated OAuthManager
    ) async throws -> RenewalOutcome? {
        await learnRevisions(for: manager)
        let found = try await store.load()
        guard !manager.engine.hasHandedOver else { return nil }
        return manager.decide { engine, now in
            engine.postponeStoreCheck(at: now)
            guard engine.learn(found) == .takeStored else { return nil }
            if let adopted = engine.adopt(for: reason, manager.jitter(), at: now) { return adopted }
            guard engine.hasNothingToPresent(for: reason),
                case .end(let outcome) = engine.nextRefreshToken(for: reason, at: now)
            else { return nil }
            return outcome
        }
    }

    /// Adopts a record that another process stored during the wait for the lock, if it helps.
    ///
    /// - Returns: the end of the renewal; `nil` if it still needs the lock.
    /// - Throws: `TokenStoreError`.
    func adoptNews(
        for reason: OAuthEvent.Reason,
        by manager: isolated OAuthManager
    ) async throws -> RenewalOutcome? {
        // The record of the predecessor is newer than the stored one.
        guard manager.predecessor == nil else { return nil }
        return try await settle(for: reason, by: manager)
    }

    /// Passes on the records of other processes until the manager is gone.
    func followChanges(for manager: isolated OAuthManager) -> Task<Void, Never>? {
        store.changes().map { changes in
            // The manager's own task: it ends with the manager.
            Task { [weak manager] in
                for await found in changes {
                    guard let manager else { return }
                    await take(found, for: manager)
                }
            }
        }
    }

    private func take(_ found: TokenRecord?, for manager: isolated OAuthManager) async {
        await learnRevisions(for: manager)
        let check = manager.engine.beginStoreCheck()
        manager.handle(.storeChecked(found, since: check, jitter: manager.jitter()))
        await keepRevisions(for: manager)
    }

    /// Checks whether the store was changed elsewhere.
    ///
    /// Such a change is a sign-in or sign-out by another tool, or a renewal by another process. Sends
    /// no request and takes no lock.
    func checkForChanges(for manager: isolated OAuthManager) async {
        // A store that many machines share reports changes, so that they need not all read it.
        if store.isShared {
            manager.decide { engine, now in engine.postponeStoreCheck(at: now) }
            return manager.publish()
        }
        let check = manager.engine.beginStoreCheck()
        do {
            let found = try await store.load()
            noteService(of: manager)
            manager.handle(.storeChecked(found, since: check, jitter: manager.jitter()))
            await keepRevisions(for: manager)
        } catch {
            // The next renewal, which has the lock, handles an unreadable file.
            report(error, to: manager)
            manager.handle(.storeCheckFailed)
        }
    }

    // MARK: - Writing

    /// Changes the record and writes it.
    @discardableResult
    func save(
        _ entry: TokenLedger.RecordChange,
        presented: Secret? = nil,
        for manager: isolated OAuthManager
    ) async -> TokenLedger.Saving {
        await save(manager.engine.record(with: entry), presented: presented, for: manager)
    }

    /// Writes a record over the one that was read.
    ///
    /// If that fails, the record stays in memory and is written later: a full disk must not cost a
    /// rotated token.
    ///
    /// - Parameters:
    ///   - next: the record.
    ///   - presented: the refresh token that its tokens were obtained with.
    ///   - manager: the manager of the record.
    /// - Returns: the result.
    @discardableResult
    func save(
        _ next: TokenRecord,
        presented: Secret? = nil,
        for manager: isolated OAuthManager
    ) async -> TokenLedger.Saving {
        let staged = manager.decide { engine, _ in
            engine.stage(next, presented: presented)
        }
        guard let draft = staged else { return .kept }
        do {
            do {
                try await write(draft, for: manager)
                return .stored
            } catch TokenStoreError.conflict {
                // Another process wrote without the lock.
                let found = try await store.load()
                let conflict = manager.decide { engine, _ in
                    engine.resolveConflict(saving: draft, found: found)
                }
                switch conflict {
                case .foreign: return .kept
                case .overtaken: return .overtaken
                case .saveAgain(let draft):
                    try await write(draft, for: manager)
                    return .stored
                }
            }
        } catch {
            manager.decide { engine, _ in engine.apply(.unsaved) }
            report(error, to: manager)
            manager.saveLater()
            return .kept
        }
    }

    /// Tries every few seconds to write the record that could not be written, until it is written or
    /// replaced.
    func writeRepeatedly(for manager: isolated OAuthManager) -> Task<Void, Never> {
        // The manager's own task: the request that brought the token ended long ago.
        Task { [clock, weak manager] in
            var pause = Duration.seconds(1)
            while await manager?.isUnsaved == true {
                do { try await clock.sleep(until: clock.now + pause) } catch { return }
                await manager?.writeAgain()
                // Until they are written, the tokens exist only here.
                pause = min(pause * 2, .seconds(15))
            }
            await manager?.endRewriting()
        }
    }

    private func write(
        _ draft: TokenLedger.Draft,
        for manager: isolated OAuthManager
    ) async throws {
        try await store.save(draft.record, replacing: draft.expected.revision)
        manager.reportedFault = nil
        manager.storeFault = nil
        manager.decide { engine, _ in engine.apply(.saved(draft)) }
        await keepRevisions(for: manager)
    }

    /// Tries to write an unsaved record; a renewal writes by itself.
    func saveAgain(for manager: isolated OAuthManager) async {
        guard manager.isUnsaved, manager.engine.renewal == nil else { return }
        let check = manager.engine.beginStoreCheck()
        let before = manager.engine.record?.refreshToken
        do {
            if let lock = await manager.takeKeptLock() {
                defer { manager.release(lock) }
                // If the record cannot be read, it is unchanged, because this manager holds the lock.
                do { try await read(under: lock, for: manager) } catch {}
                return try await writeMemory(of: manager, since: check, before)
            }
            if store.isShared {
                // Another machine may have stored a token that serves all machines.
                let found = try await store.load()
                guard manager.engine.hasBegunNoRenewal(since: check) else { return }
                manager.decide { engine, _ in engine.learn(found) }
                guard manager.isUnsaved else {
                    if found?.refreshToken != before { _ = manager.yieldToStored() }
                    return manager.publish()
                }
            }
            let lock = try await store.lock(until: clock.now + .seconds(5), clock: clock)
            defer { manager.release(lock) }
            try await read(under: lock, for: manager)
            guard manager.engine.hasBegunNoRenewal(since: check) else { return manager.publish() }
            try await writeMemory(of: manager, since: check, before)
        } catch {
            report(error, to: manager)
        }
    }

    /// Writes the record in memory under the lock.
    private func writeMemory(
        of manager: isolated OAuthManager,
        since check: StoreCheck,
        _ before: Secret?
    ) async throws {
        var isOvertaken = manager.engine.record?.refreshToken != before
        if manager.isUnsaved, let record = manager.engine.record {
            isOvertaken = await save(record, for: manager) == .overtaken
        }
        if isOvertaken, manager.engine.hasBegunNoRenewal(since: check) {
            // Someone has signed in or out: the token in force may be another user's.
            _ = manager.yieldToStored()
        }
        manager.publish()
    }

    // MARK: - Removing

    /// Forgets the tokens and removes the stored ones.
    ///
    /// - Throws: the error of the store if it keeps the tokens.
    func forget(for manager: isolated OAuthManager) async throws {
        // A record of the predecessor would come back when the store is next read.
        try await inherit(under: nil, for: manager)
        manager.handle(.forgetting)
        manager.rewriting?.cancel()
        manager.endRewriting()
        manager.onEvent(.forgotten)
        // A rewrite in progress may have read the store.
        defer { manager.handle(.removalEnded) }
        try await remove(for: manager)
    }

    /// Removes the stored tokens, under the lock.
    ///
    /// - Throws: the error of the store; the tokens that it keeps are not news then.
    private func remove(for manager: isolated OAuthManager) async throws {
        do {
            let signOut = try await removeStored(for: manager)
            manager.decide { engine, _ in engine.apply(.removed(signOut)) }
            await keepRevisions(for: manager)
        } catch {
            do {
                let found = try await store.load()
                manager.decide { engine, _ in engine.apply(.notRemoved(found)) }
            } catch {
                report(error, to: manager)
                manager.decide { engine, _ in engine.apply(.removalUnknown) }
            }
            throw error
        }
    }

    /// Replaces the stored tokens by the record of a sign-out; returns it.
    private func removeStored(for manager: isolated OAuthManager) async throws -> TokenRecord? {
        let limit = clock.now + configuration.lockTimeout
        let lock = try await lock(until: limit, .always, for: manager)
        defer { lock?.release() }
        let found = lock == nil ? nil : try await store.soundRecord(under: lock)
        guard let found else { return nil }
        return found.isSignedOut ? found : try await store.signOut(of: found, at: clock.wallNow)
    }

    // MARK: - Replacing a manager

    /// Takes over the record that the predecessor could not write.
    ///
    /// - Parameters:
    ///   - lock: the store's, under which the predecessor renews nothing; without it the end of its renewal
    ///     is awaited.
    ///   - manager: the successor.
    /// - Throws: `NetworkError` of kind `.cancelled`.
    private func inherit(
        under lock: TokenStoreLock?,
        for manager: isolated OAuthManager
    ) async throws {
        guard let other = manager.predecessor else { return }
        if lock == nil { manager.keptLock = await other.takeKeptLock() }
        let unsaved =
            manager.hasTokens(of: other) ? try await handOver(from: other, under: lock) : nil
        manager.predecessor = nil
        guard let (record, found) = unsaved, manager.configuration.isOfConfiguredSeed(record)
        else { return }
        manager.decide { engine, _ in engine.apply(.inherited(record, found: found)) }
        manager.saveLater()
    }

    private func handOver(
        from manager: isolated OAuthManager,
        under lock: TokenStoreLock?
    ) async throws -> (TokenRecord, StoredState)? {
        try await inherit(under: lock, for: manager)
        // If nothing can be written there may be no lock either, and a response may be on its way.
        if lock == nil { try await manager.waitForRenewal() }
        return manager.decide { engine, _ in engine.handOver() }
    }

    // MARK: - Faults

    /// Reports that the store failed; while the record is unsaved it is tried again every few seconds,
    /// and the same fault is not reported each time.
    func report(_ error: any Error, to manager: isolated OAuthManager) {
        let detail = Self.description(of: error)
        note(error, of: manager)
        guard !manager.isUnsaved || manager.reportedFault != detail else { return }
        manager.reportedFault = detail
        let fault = (error as? TokenStoreError)?.fault ?? .unavailable
        manager.onEvent(.storeFailed(fault, detail: detail))
    }

    /// Notes a fault for the status.
    func note(_ error: any Error, of manager: isolated OAuthManager) {
        if let error = error as? TokenStoreError { manager.storeFault = error.fault }
    }

    /// Notes that the store has responded; a record that could not be written is a fault until it is.
    private func noteService(of manager: isolated OAuthManager) {
        if !manager.isUnsaved { manager.storeFault = nil }
    }

    /// A clause for an error of the store; another error may contain anything.
    static func description(of error: any Error) -> String {
        switch error {
        case let error as TokenStoreError: error.description
        case is CancellationError: "the renewal was cancelled"
        default: "the token store failed"
        }
    }
}
