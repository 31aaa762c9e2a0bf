import NetworkCore

extension OAuthManager {
    /// Stores the tokens of an answer.
    func remember(
        _ token: Token,
        response: TokenResponse,
        grant: TokenGrant,
        reason: OAuthEvent.Reason
    ) async -> TokenLedger.Saving {
        let isSignIn = reason == .signIn
        var next = ledger.workingRecord
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
        ledger.supersede()
        var saving = await persist(next, presented: grant.refreshToken)
        // Whoever signs in here does so after all others.
        if saving == .overtaken, isSignIn { saving = await persist(next) }
        if saving == .stored { onEvent(.stored(generation: token.generation)) }
        return saving
    }

    /// Keeps a refresh token that came with an answer of no other use.
    func keep(_ refreshToken: Secret?, grant: TokenGrant) async {
        guard let refreshToken, grant.refreshToken != nil else { return }
        var next = ledger.workingRecord
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
    /// rotated already is not thrown away for a full disk.
    ///
    /// - Parameters:
    ///   - next: the record.
    ///   - presented: the refresh token that its tokens were bought with.
    /// - Returns: what became of it.
    @discardableResult
    func persist(_ next: TokenRecord, presented: Secret? = nil) async -> TokenLedger.Saving {
        do {
            return try await ledger.write(next, presented: presented)
        } catch {
            onEvent(.storeFailed(detail: OAuthManager.words(error)))
            writeLater()
            return .kept
        }
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

    var isUnsaved: Bool { ledger.isUnsaved }

    private func endRewrite() { rewrite = nil }

    /// Tries to write what could not be written, if there is something.
    package func writeAgain() async {
        // A renewal writes by itself.
        guard ledger.isUnsaved, renewal == nil else { return }
        let (begun, before) = (renewals, ledger.record?.refreshToken)
        do {
            let lock = try await store.lock(until: clock.now + .seconds(5), clock: clock)
            defer { lock.release() }
            try await readStore(under: lock)
            guard renewals == begun else { return publish() }
            var isOvertaken = ledger.record?.refreshToken != before
            if ledger.isUnsaved, let record = ledger.record {
                isOvertaken = await persist(record) == .overtaken
            }
            // Somebody has signed in or out: the token at hand may be another person's.
            if isOvertaken, renewals == begun { _ = yieldToStored() }
            publish()
        } catch {
            onEvent(.storeFailed(detail: OAuthManager.words(error)))
        }
    }
}
