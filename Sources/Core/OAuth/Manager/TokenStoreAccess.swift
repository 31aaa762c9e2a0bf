import NetworkCore

/// Reads and writes the token store for a manager, as its engine's ledger decides.
struct TokenStoreAccess: Sendable {
    let store: any TokenStoring
    let configuration: OAuthConfiguration
    let clock: any NetworkClock

    // MARK: - Reading

    /// Reads the stored record, under the lock if there is one.
    ///
    /// - Throws: `TokenStoreError.unavailable` or `.unreadable` if the store may hold a newer refresh
    ///   token than the known one: presenting an older one could revoke the family. `NetworkError` of
    ///   kind `.cancelled`.
    func read(under lock: TokenStoreLock?, for manager: isolated OAuthManager) async throws {
        try await inherit(under: lock, for: manager)
        var found: TokenRecord?
        do {
            found = try await store.load(under: lock)
        } catch TokenStoreError.corrupt(let path) {
            report(TokenStoreError.corrupt(movedTo: path), to: manager)
            if manager.engine.record != nil { return keepMemory(of: manager) }
        } catch {
            report(error, to: manager)
            manager.decide { engine, _ in engine.apply(.unreadable) }
            guard case .refreshToken = configuration.grant else { return }
            // A store that fails holds the record of this manager. An unreadable one was written by
            // another program.
            if case TokenStoreError.unreadable = error { throw error }
            if manager.engine.record == nil { throw error }
            return
        }
        if found == nil, lock?.storeAge == .new, manager.engine.record != nil {
            manager.onEvent(.storeFailed(detail: Self.vanished))
            return keepMemory(of: manager)
        }
        manager.decide { engine, now in
            engine.postponeStoreCheck(at: now)
            engine.learn(found)
        }
    }

    /// The report of a missing store.
    private static let vanished =
        "the place where tokens are stored was removed; the tokens in memory are stored again"

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

    private func take(_ found: TokenRecord?, for manager: isolated OAuthManager) {
        let check = manager.engine.beginStoreCheck()
        manager.handle(.storeChecked(found, since: check, jitter: manager.jitter()))
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
            if found == nil, manager.engine.record != nil, await !store.remembersSignOut() {
                manager.handle(.storeVanished(since: check))
                if manager.isUnsaved { manager.onEvent(.storeFailed(detail: Self.vanished)) }
                return manager.saveLater()
            }
            manager.handle(.storeChecked(found, since: check, jitter: manager.jitter()))
        } catch {
            // The next renewal, which has the lock, handles an unreadable file.
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
        manager.decide { engine, _ in engine.apply(.saved(draft)) }
    }

    /// Tries to write an unsaved record; a renewal writes by itself.
    func saveAgain(for manager: isolated OAuthManager) async {
        guard manager.isUnsaved, manager.engine.renewal == nil else { return }
        let check = manager.engine.beginStoreCheck()
        let before = manager.engine.record?.refreshToken
        do {
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
            defer { lock.release() }
            try await read(under: lock, for: manager)
            guard manager.engine.hasBegunNoRenewal(since: check) else { return manager.publish() }
            var isOvertaken = manager.engine.record?.refreshToken != before
            if manager.isUnsaved, let record = manager.engine.record {
                isOvertaken = await save(record, for: manager) == .overtaken
            }
            if isOvertaken, manager.engine.hasBegunNoRenewal(since: check) {
                // Someone has signed in or out: the token in force may be another user's.
                _ = manager.yieldToStored()
            }
            manager.publish()
        } catch {
            report(error, to: manager)
        }
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
            try await removeStored()
            manager.decide { engine, _ in engine.apply(.removed) }
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

    private func removeStored() async throws {
        let limit = clock.now + configuration.lockTimeout
        let lock = try await store.lock(until: limit, clock: clock)
        defer { lock.release() }
        if let found = try await store.soundRecord(under: lock) {
            try await store.remove(revision: found.revision)
        }
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
        guard !manager.isUnsaved || manager.reportedFault != detail else { return }
        manager.reportedFault = detail
        manager.onEvent(.storeFailed(detail: detail))
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
