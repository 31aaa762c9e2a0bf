import NetworkCore

extension CredentialSnapshot.Content {
    /// The state that requests read without a call to the manager.
    init(_ engine: TokenEngine, at now: Moment) {
        var signIn = engine.signIn
        if let current = engine.current, current.isAlive(at: now, engine.backoff) {
            // Requests are signed as long as the token lives, even without a refresh token.
            let end = current.token.expiresAt?.wall
            if !signIn.exists {
                signIn = (true, end)
            } else if let until = signIn.until {
                signIn.until = end.map { max($0, until) }
            }
        }
        self.init(isSignedIn: signIn.exists)
        signedInUntil = signIn.until
        wantsAcceptanceReport = engine.trial != nil || engine.current?.standing.doubt == .suspected
        guard engine.trial == nil, let current = engine.current else { return }
        let backoff = engine.backoff
        if current.isUsable(at: now, backoff) {
            credential = current.credential
            dueAt = current.windows?.due ?? .never
            staleAt = engine.nextStoreCheck
            // The renewal in progress comes first.
            if engine.renewal == nil, backoff.death == nil, var stale = current.windows?.stale {
                if let end = backoff.quietEnd(at: now), stale.steady < end {
                    stale = now + (end - now.steady)
                }
                if stale.steady < staleAt.steady { staleAt = stale }
            }
        }
        if let pause = backoff.activePause(at: now), current.isAlive(at: now, backoff) {
            // No token is requested before the pause ends, so requests need not call the manager
            // either.
            let end = now + (pause.end - now.steady)
            if credential == nil {
                credential = current.credential
                dueAt = current.token.expiresAt ?? .never
                if end.steady < dueAt.steady { dueAt = end }
            } else if staleAt.steady < end.steady {
                staleAt = end
            }
        }
    }
}

extension OAuthStatus {
    /// The state as users see it, without the waiters and the clock offset, which only the manager
    /// knows.
    init(_ engine: TokenEngine, at now: Moment) {
        let (token, record) = (engine.current?.token, engine.record)
        self.init(state: State(engine, at: now), generation: engine.generation)
        age = token.map { now.steady - $0.issuedAt.steady }
        expiresIn = token?.expiresAt.map { max($0.remaining(at: now), .zero) }
        scope = token?.scope
        hasRefreshToken = (record?.refreshToken ?? token?.refreshToken) != nil
        refreshExpiresIn = record?.refreshExpiresAt.map { max($0 - now.wall, .zero) }
        isUnsaved = engine.isUnsaved
        lastFailure = engine.backoff.lastFailure
        nextAttempt = engine.backoff.pause.map { max($0.end - now.steady, .zero) }
    }
}

extension OAuthStatus.State {
    /// The state by name.
    init(_ engine: TokenEngine, at now: Moment) {
        let backoff = engine.backoff
        self =
            if engine.renewal != nil {
                .refreshing
            } else if let current = engine.current, current.isAlive(at: now, backoff) {
                if current.isDue(at: now) {
                    .expired
                } else {
                    current.isStale(at: now) ? .stale : .fresh
                }
            } else if backoff.death != nil {
                .dead
            } else if backoff.activePause(at: now) != nil {
                .failed
            } else {
                engine.current == nil ? .empty : .expired
            }
    }
}
