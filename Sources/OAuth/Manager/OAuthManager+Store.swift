import NetworkCore

extension OAuthManager {
    /// Learns what is stored, under the lock if there is one.
    ///
    /// - Throws: `TokenStoreError.unavailable` or `.unreadable` if the store may hold a refresh token
    ///   newer than any known here: presenting an older one could end the family.
    ///   `NetworkError` of kind `.cancelled`.
    func readStore(under lock: TokenStoreLock?) async throws {
        try await inherit(under: lock)
        var found: TokenRecord?
        do {
            found = try await store.load(under: lock)
        } catch TokenStoreError.corrupt(let path) {
            onEvent(.storeFailed(detail: TokenStoreError.corrupt(movedTo: path).description))
            if ledger.record != nil { return writeAnew() }
        } catch {
            onEvent(.storeFailed(detail: OAuthManager.words(error)))
            guard case .refreshToken = configuration.grant else { return }
            // A store that is broken holds what this manager put there; one that cannot be understood
            // any more was written by somebody else.
            if case TokenStoreError.unreadable = error { throw error }
            if ledger.record == nil { throw error }
            return
        }
        nextLook = clock.moment + OAuthManager.lookInterval
        learn(found)
    }

    /// Goes on with what is known here, after what was stored was set aside: it is the newest.
    private func writeAnew() {
        ledger.outlast()
        nextLook = clock.moment + OAuthManager.lookInterval
        writeLater()
    }

    /// Takes note of what the store holds.
    ///
    /// - Returns: whose tokens count now.
    @discardableResult
    func learn(_ found: TokenRecord?) -> Precedence {
        let before = ledger.record?.refreshToken
        let precedence = ledger.learn(found)
        switch precedence {
        case .memory: break
        case .foreign:
            onEvent(
                .storeFailed(
                    detail: "the stored tokens belong to another client or token endpoint and are "
                        + "not used"
                )
            )
        case .stored:
            // Another refresh token, or none: what was said of the one before does not hold for it.
            if before != found?.refreshToken { trouble.death = nil }
        }
        return precedence
    }

    /// Takes an access token from the store, if it helps.
    func adopt(for reason: OAuthEvent.Reason) -> WaitingRoom.Outcome? {
        guard reason != .forced, let record = ledger.record,
            let kept = record.accessTokens[configuration.credentialKey],
            kept.value != current?.token.value, configuration.isOfConfiguredSeed(record)
        else { return nil }
        let now = clock.moment
        // What is left of it, but never more than it was given: the wall clock may have been set.
        let left = kept.expiresAt.map { min($0 - now.wall, $0 - kept.issuedAt) }
        let age = max(now.wall - kept.issuedAt, .zero)
        let token = Token(
            value: kept.value,
            issuedAt: now + (.zero - age),
            expiresAt: left.map { now + $0 },
            refreshAt: kept.refreshAt.map { now + ($0 - now.wall) },
            refreshToken: record.refreshToken,
            generation: generation + 1,
            scope: kept.scope,
            scheme: kept.scheme,
            isForOneUse: false,
            proof: configuration.proof
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
        guard var adopted = CurrentToken(token, windows: windows) else { return nil }
        adopted.isAdopted = true
        install(adopted)
        onEvent(.adopted(generation: token.generation))
        return reason == .recovery && isOpen ? nil : .credential(adopted.credential)
    }

    /// Goes on with what somebody else has stored while a renewal was under way.
    func yieldToStored() -> WaitingRoom.Outcome {
        trouble.clear()
        if let adopted = adopt(for: .external) { return adopted }
        // Another person's refresh token, maybe: the token at hand has no successor.
        dropToken()
        return .idle
    }
}
