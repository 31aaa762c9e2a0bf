extension OAuthManager {
    /// What became of a record that was to be stored.
    enum Saving {
        case stored
        /// It is in memory.
        case kept
        /// Somebody has signed in elsewhere, and that is in force.
        case overtaken
    }

    /// Stores the tokens of an answer.
    func remember(
        _ token: Token,
        response: TokenResponse,
        grant: TokenGrant,
        reason: OAuthEvent.Reason
    ) async -> Saving {
        let isSignIn = reason == .signIn
        var next = workingRecord
        next.intent = nil
        next.quarantine = nil
        if grant.refreshToken != nil || isSignIn {
            let replacement = response.refreshToken ?? grant.refreshToken
            next.rotates = isSignIn ? nil : replacement != grant.refreshToken
            // A server that leaves a token in force need not repeat when that ends.
            if replacement != next.refreshToken || response.refreshLifetime != nil {
                next.refreshExpiresAt = response.refreshLifetime.map { token.issuedAt.wall + $0 }
            }
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
                refreshAt: token.refreshAt?.wall,
                scope: token.scope,
                scheme: token.scheme
            )
        }
        if stored.owner == .foreign { stored.owner = .superseded }
        var saving = await persist(next, presented: grant.refreshToken)
        // Whoever signs in here does so after all others.
        if saving == .overtaken, isSignIn { saving = await persist(next) }
        if saving == .stored { onEvent(.stored(generation: token.generation)) }
        return saving
    }

    /// Keeps a refresh token that came with an answer of no other use.
    func keep(_ refreshToken: Secret?, grant: TokenGrant) async {
        guard let refreshToken, grant.refreshToken != nil else { return }
        var next = workingRecord
        next.refreshToken = refreshToken
        next.refreshExpiresAt = nil
        next.rotates = true
        if case .refreshToken(let seed) = configuration.grant {
            next.seed = seed.map(TokenRecord.fingerprint)
        }
        await persist(next, presented: grant.refreshToken)
    }

    /// Writes a record in place of the one that was read.
    ///
    /// If that fails the record stays in memory and is written later: a token the server has
    /// rotated already is not thrown away for a full disk. It also stays there while the store
    /// holds another client's tokens.
    ///
    /// - Parameters:
    ///   - next: the record.
    ///   - presented: the refresh token that its tokens were bought with.
    /// - Returns: what became of it.
    @discardableResult
    func persist(_ next: TokenRecord, presented: Secret? = nil) async -> Saving {
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
            onEvent(.storeFailed(detail: OAuthManager.words(error)))
            writeLater()
            return .kept
        }
    }

    private func save(_ record: TokenRecord) async throws {
        var next = record
        next.revision = stored.revision + 1
        try await store.save(next, replacing: stored.revision)
        self.record = next
        stored = StoredState(next, authority: configuration.authority)
        isUnsaved = false
    }

    /// Tries again to write what could not be written, until it is written or replaced.
    func writeLater() {
        guard rewrite == nil else { return }
        // The manager's own: the request that brought the token is long gone.
        rewrite = Task { [clock, weak self] in
            var pause = Duration.seconds(5)
            while await self?.isUnsaved == true {
                do { try await clock.sleep(until: clock.now + pause) } catch { return }
                await self?.writeAgain()
                pause = min(pause * 2, .seconds(300))
            }
            await self?.endRewrite()
        }
    }

    private func endRewrite() { rewrite = nil }

    /// Tries to write what could not be written, if there is something.
    package func writeAgain() async {
        // A renewal writes by itself.
        guard isUnsaved, renewal == nil else { return }
        let (begun, before) = (renewals, record?.refreshToken)
        do {
            let lock = try await store.lock(until: clock.now + .seconds(5), clock: clock)
            defer { lock.release() }
            try await readStore(under: lock)
            guard renewals == begun else { return publish() }
            var isOvertaken = record?.refreshToken != before
            if isUnsaved, let record { isOvertaken = await persist(record) == .overtaken }
            // Somebody has signed in or out: the token at hand may be another person's.
            if isOvertaken, renewals == begun { _ = yieldToStored() }
            publish()
        } catch {
            onEvent(.storeFailed(detail: OAuthManager.words(error)))
        }
    }
}
