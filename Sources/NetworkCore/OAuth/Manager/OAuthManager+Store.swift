extension OAuthManager {
    /// The record to change next.
    var workingRecord: TokenRecord {
        record ?? TokenRecord(authority: configuration.authority)
    }

    /// Learns what is stored, under the lock.
    ///
    /// - Throws: `TokenStoreError.unavailable` if the store cannot be read and may hold a refresh
    ///   token newer than any known here: presenting an older one could end the family.
    func readStore(under lock: TokenStoreLock?) async throws {
        let found: TokenRecord?
        do {
            found = try await store.load(under: lock)
        } catch TokenStoreError.corrupt(let path) {
            onEvent(.storeFailed(detail: TokenStoreError.corrupt(movedTo: path).description))
            found = nil
        } catch {
            onEvent(.storeFailed(detail: OAuthManager.words(error)))
            if record == nil, case .refreshToken = configuration.grant { throw error }
            return
        }
        storedRevision = found?.revision ?? 0
        nextLook = clock.moment + OAuthManager.lookInterval
        // What could not be written is newer than what is there, unless somebody wrote since.
        if isUnsaved, let record, storedRevision < record.revision { return }
        isUnsaved = false
        if let found, found.authority != configuration.authority {
            onEvent(
                .storeFailed(
                    detail: "the stored tokens belong to another client or token endpoint and are "
                        + "not used"
                )
            )
            record = nil
        } else {
            record = found
        }
    }

    /// Takes an access token from the store, if it helps.
    func adopt(for reason: OAuthEvent.Reason) -> WaitingRoom.Outcome? {
        guard reason != .forced, let record,
            let kept = record.accessTokens[configuration.credentialKey],
            kept.value != current?.token.value, isOfConfiguredSeed(record)
        else { return nil }
        let now = clock.moment
        // What is left of it, but never more than it was given: the wall clock may have been set.
        let left = kept.expiresAt.map { min($0 - now.wall, $0 - kept.issuedAt) }
        let age = max(now.wall - kept.issuedAt, .zero)
        let token = Token(
            value: kept.value,
            issuedAt: now + (.zero - age),
            expiresAt: left.map { now + $0 },
            refreshAt: nil,
            refreshToken: record.refreshToken,
            generation: generation + 1,
            scope: kept.scope,
            scheme: kept.scheme,
            isForOneUse: false
        )
        var windows = TokenWindows(
            token,
            refreshBefore: configuration.refreshBefore,
            jitter: jitter()
        )
        if let windows, windows.due.isReached(at: now) { return nil }
        if reason == .early, let windows, windows.stale.isReached(at: now) { return nil }
        let isOpen = record.intent != nil
        // An outcome that is not known is settled soon: the server's grace runs.
        if isOpen { windows?.advance(to: now) }
        guard let adopted = CurrentToken(token, windows: windows) else { return nil }
        install(adopted)
        onEvent(.adopted(generation: token.generation))
        return reason == .recovery && isOpen ? nil : .credential(adopted.credential)
    }

    /// Whether the record descends from the refresh token that is configured now, if one is:
    /// another one may be another person's.
    private func isOfConfiguredSeed(_ record: TokenRecord) -> Bool {
        guard case .refreshToken(let seed?) = configuration.grant else { return true }
        return record.seed == TokenRecord.fingerprint(seed)
    }

    /// Stores the tokens of an answer.
    func remember(
        _ token: Token,
        response: TokenResponse,
        grant: TokenGrant,
        reason: OAuthEvent.Reason
    ) async {
        let isSignIn = reason == .signIn
        var next = workingRecord
        next.intent = nil
        next.quarantine = nil
        if grant.refreshToken != nil || isSignIn {
            let replacement = response.refreshToken ?? grant.refreshToken
            next.rotates = isSignIn ? nil : replacement != grant.refreshToken
            next.refreshToken = replacement
            if case .refreshToken(let seed) = configuration.grant {
                next.seed = seed.map(TokenRecord.fingerprint)
            }
        }
        if token.isForOneUse {
            next.accessTokens[configuration.credentialKey] = nil
        } else {
            next.accessTokens[configuration.credentialKey] = TokenRecord.AccessToken(
                value: token.value,
                issuedAt: token.issuedAt.wall,
                expiresAt: token.expiresAt?.wall,
                scope: token.scope,
                scheme: token.scheme
            )
        }
        await persist(next, presented: grant.refreshToken)
        if !isUnsaved { onEvent(.stored(generation: token.generation)) }
    }

    /// Keeps a refresh token that came with an answer of no other use.
    func keep(_ refreshToken: Secret?, grant: TokenGrant) async {
        guard let refreshToken, grant.refreshToken != nil else { return }
        var next = workingRecord
        next.refreshToken = refreshToken
        next.rotates = true
        if case .refreshToken(let seed) = configuration.grant {
            next.seed = seed.map(TokenRecord.fingerprint)
        }
        await persist(next, presented: grant.refreshToken)
    }

    /// Writes a record in place of the one that was read.
    ///
    /// If that fails the record stays in memory and is written later: a token the server has
    /// rotated already is not thrown away for a full disk.
    func persist(_ record: TokenRecord, presented: Secret? = nil) async {
        var next = record
        next.revision = storedRevision + 1
        self.record = next
        do {
            do {
                try await store.save(next, replacing: storedRevision)
            } catch TokenStoreError.conflict {
                // Somebody wrote without the lock. A sign-in of theirs wins; anything else is older
                // than what the server has just said.
                let theirs = try await store.load()
                storedRevision = theirs?.revision ?? 0
                if let theirs, let token = theirs.refreshToken, token != presented,
                    token != next.refreshToken
                {
                    self.record = theirs
                    return
                }
                next.revision = storedRevision + 1
                self.record = next
                try await store.save(next, replacing: storedRevision)
            }
            storedRevision = next.revision
            isUnsaved = false
        } catch {
            isUnsaved = true
            onEvent(.storeFailed(detail: OAuthManager.words(error)))
            writeLater()
        }
    }
}
