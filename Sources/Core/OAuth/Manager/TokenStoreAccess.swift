import NetworkCore

/// Reads and writes the token store for a manager, as its engine's ledger decides.
struct TokenStoreAccess: Sendable {
    let store: any TokenStoring
    let configuration: OAuthConfiguration
    let clock: any NetworkClock

    // MARK: - Reading

    /// Reads what is stored, under the lock if there is one.
    ///
    /// - Throws: `TokenStoreError.unavailable` or `.unreadable` if the store may hold a refresh token
    ///   newer than any known here: presenting an older one could revoke the family.
    ///   `NetworkError` of kind `.cancelled`.
    func read(under lock: TokenStoreLock?, for manager: isolated OAuthManager) async throws {
        try await manager.inherit(under: lock)
        var found: TokenRecord?
        do {
            found = try await store.load(under: lock)
        } catch TokenStoreError.corrupt(let path) {
            report(TokenStoreError.corrupt(movedTo: path), to: manager)
            if manager.engine.ledger.record != nil { return keepMemory(of: manager) }
        } catch {
            report(error, to: manager)
            manager.decide { engine, _ in engine.ledger.noteFailedLook() }
            guard case .refreshToken = configuration.grant else { return }
            // A store that fails holds what this manager wrote; one that cannot be understood was written
            // by another program.
            if case TokenStoreError.unreadable = error { throw error }
            if manager.engine.ledger.record == nil { throw error }
            return
        }
        if found == nil, lock?.isNew == true, manager.engine.ledger.record != nil {
            manager.onEvent(.storeFailed(detail: Self.vanished))
            return keepMemory(of: manager)
        }
        manager.decide { engine, now in
            engine.postponeStoreCheck(at: now)
            engine.learn(found)
        }
    }

    /// What is reported of a store that is gone.
    private static let vanished =
        "the place where tokens are stored was removed; the tokens in memory are stored again"

    /// Goes on with what is in memory, which is the newest, and writes it again.
    private func keepMemory(of manager: isolated OAuthManager) {
        manager.decide { engine, now in
            engine.ledger.noteStoreLost()
            engine.postponeStoreCheck(at: now)
        }
        manager.saveLater()
    }

    /// Takes a good token that another manager or process left in the store, where nothing is known yet:
    /// another process may hold the lock for as long as a slow server takes.
    ///
    /// - Returns: how the renewal ends with it; `nil` if there is more to do under the lock.
    func adoptAtFirstSight(
        for reason: OAuthEvent.Reason,
        by manager: isolated OAuthManager
    ) async -> RenewalOutcome? {
        guard manager.knowsNoToken, reason != .forced else { return nil }
        if let predecessor = manager.predecessor {
            // A look at the start goes on to the lock, and takes over what the other has by then.
            guard reason == .recovery, await !predecessor.isUnsaved else { return nil }
        }
        // Under the lock it is clear what a failure means.
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

    /// Looks into a shared store without its lock where, as far as is known, there is nothing to present:
    /// machines that start at once, or whose user must sign in, do not queue for the lock.
    ///
    /// - Returns: how the renewal ends; `nil` if there is more to do under the lock.
    /// - Throws: `TokenStoreError`: then there is no lock either.
    func settleWithoutLock(
        for reason: OAuthEvent.Reason,
        by manager: isolated OAuthManager
    ) async throws -> RenewalOutcome? {
        guard store.isShared, manager.predecessor == nil,
            manager.engine.hasNothingToPresent(for: reason)
        else { return nil }
        return try await settle(for: reason, by: manager)
    }

    /// Learns what is stored, without the lock.
    ///
    /// - Returns: how the renewal ends, if it needs no request; `nil` if it does.
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
            return engine.hasNothingToPresent(for: reason)
                ? engine.outcomeOfNothingToPresent(for: reason, at: now) : nil
        }
    }

    /// Takes what another process has stored while the lock was waited for, if it is of use.
    ///
    /// - Returns: how the renewal ends with it; `nil` if the lock is wanted all the same.
    /// - Throws: `TokenStoreError`.
    func adoptNews(
        for reason: OAuthEvent.Reason,
        by manager: isolated OAuthManager
    ) async throws -> RenewalOutcome? {
        // What the predecessor holds is newer than anything that is stored.
        guard manager.predecessor == nil else { return nil }
        return try await settle(for: reason, by: manager)
    }

    /// Passes on what other processes store, until the manager is gone.
    func followChanges(for manager: isolated OAuthManager) -> Task<Void, Never>? {
        store.changes().map { changes in
            // The manager's own task: it ends with the manager.
            Task { [weak manager] in
                for await found in changes { await manager?.take(found) }
            }
        }
    }

    /// Checks whether the store was changed elsewhere.
    ///
    /// That is a sign-in or sign-out by another tool, or a renewal by another process. Asks no server and
    /// takes no lock.
    func checkForChanges(for manager: isolated OAuthManager) async {
        // One that many machines share tells of changes, and is not asked by all of them.
        if store.isShared { return manager.postponeStoreCheck() }
        let check = manager.engine.beginStoreCheck()
        do {
            let found = try await store.load()
            if found == nil, manager.engine.ledger.record != nil, await !store.remembersSignOut() {
                manager.handle(.storeVanished(since: check))
                if manager.isUnsaved { manager.onEvent(.storeFailed(detail: Self.vanished)) }
                return manager.saveLater()
            }
            manager.handle(.storeChecked(found, since: check, jitter: manager.jitter()))
        } catch {
            // A file that makes no sense is for the next renewal, which has the lock.
            manager.handle(.storeCheckFailed)
        }
    }

    // MARK: - Writing

    /// Writes a record in place of the one that was read.
    ///
    /// If that fails the record stays in memory and is written later: a token that the server has rotated
    /// is not thrown away because the disk is full.
    ///
    /// - Parameters:
    ///   - next: the record.
    ///   - presented: the refresh token that its tokens were obtained with.
    ///   - manager: whose record it is.
    /// - Returns: what became of it.
    @discardableResult
    func save(
        _ next: TokenRecord,
        presented: Secret? = nil,
        for manager: isolated OAuthManager
    ) async -> TokenLedger.Saving {
        let staged = manager.decide { engine, _ in
            engine.ledger.stage(next, presented: presented)
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
                    engine.ledger.resolveConflict(saving: draft, found: found)
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
            manager.decide { engine, _ in engine.ledger.noteUnsaved() }
            report(error, to: manager)
            manager.saveLater()
            return .kept
        }
    }

    private func write(
        _ draft: TokenLedger.Draft,
        for manager: isolated OAuthManager
    ) async throws {
        try await store.save(draft.record, replacing: draft.expected.revision)
        manager.reportedFault = nil
        manager.decide { engine, _ in engine.ledger.noteSaved(draft) }
    }

    /// Tries to write what could not be written, if there is something; a renewal writes by itself.
    func saveAgain(for manager: isolated OAuthManager) async {
        guard manager.isUnsaved, manager.engine.renewal == nil else { return }
        let check = manager.engine.beginStoreCheck()
        let before = manager.engine.ledger.record?.refreshToken
        do {
            if store.isShared {
                // Another machine may have stored a token that serves all of them.
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
            var isOvertaken = manager.engine.ledger.record?.refreshToken != before
            if manager.isUnsaved, let record = manager.engine.ledger.record {
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

    /// Removes the stored tokens, under the lock.
    ///
    /// - Throws: what the store throws; what it keeps is not taken for news then.
    func remove(for manager: isolated OAuthManager) async throws {
        do {
            try await removeStored()
            manager.decide { engine, _ in engine.ledger.noteRemoval() }
        } catch {
            do {
                let found = try await store.load()
                manager.decide { engine, _ in engine.ledger.disregard(found) }
            } catch {
                report(error, to: manager)
                manager.decide { engine, _ in engine.ledger.disregardStored() }
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
