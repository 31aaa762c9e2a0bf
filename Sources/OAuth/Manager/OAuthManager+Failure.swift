import NetworkCore

extension OAuthFailure {
    /// The kind of a failure by the excess guard.
    static var excess: String { "excess" }
}

extension OAuthManager {
    /// How long a dead credential rests before the store is looked into again.
    private static var deathCheck: Duration { .seconds(5) }

    /// Whether what was refused is made anew for the next request, which may be another then: of a
    /// token that stands in a file, say.
    private func isMadeAnew(_ failure: TokenFailure) -> Bool {
        if case .provided = configuration.grant { failure.kind == .invalidGrant } else { false }
    }

    /// Leaves the token endpoint alone for a while; the failure is everybody's.
    func fail(_ failure: TokenFailure) -> WaitingRoom.Outcome {
        // A renewal that was given up has been counted.
        if Task.isCancelled, let lastFailure = trouble.lastFailure { return .failed(lastFailure) }
        trouble.failuresInRow += 1
        var delay = BackOff.delay(
            isMadeAnew(failure) ? .transient : failure.kind,
            failuresInRow: trouble.failuresInRow,
            jitter: jitter()
        )
        if let asked = failure.retryAfter {
            delay = max(delay, min(asked, configuration.retryAfterLimit))
        }
        return rest(
            OAuthFailure(
                kind: failure.kind.rawValue,
                detail: failure.detail,
                serverError: failure.serverError,
                at: clock.wallNow
            ),
            for: delay
        )
    }

    private func rest(_ failure: OAuthFailure, for delay: Duration) -> WaitingRoom.Outcome {
        var failure = failure
        // From the time of the failure, which people read the wait from: a later one adds a second.
        failure.nextAttempt = failure.at + delay
        trouble.outage = Outage(
            failure: failure,
            until: clock.now + delay,
            room: WaitingRoom(clock: clock, limit: configuration.waiterLimit)
        )
        trouble.lastFailure = failure
        onEvent(.failed(failure))
        publish()
        return .failed(failure)
    }

    /// Whether the renewal of the token at hand is no excess, however often it comes.
    ///
    /// It was never doubted and has lived half of its time at least, as tokens of seconds do; or it was
    /// for one use.
    var hasRunItsCourse: Bool {
        guard let current, current.doubt == .none else { return false }
        if current.token.isForOneUse { return true }
        guard let end = current.token.expiresAt else { return false }
        let issued = current.token.issuedAt
        let lifetime = end.remaining(at: issued)
        return lifetime >= .seconds(1) && clock.now - issued.steady >= lifetime / 2
    }

    /// Notes when a token was asked for that came, for `excess()`, which forgets those of long ago.
    ///
    /// What failed says nothing of the API, and has its own back-off.
    func noteRenewal(_ renewal: PastRenewal) {
        if configuration.excessGuard != nil { renewalTimes.append(renewal) }
    }

    /// Refuses a token request that would be one too many.
    func excess() -> WaitingRoom.Outcome? {
        guard let limit = configuration.excessGuard else { return nil }
        let now = clock.now
        renewalTimes.removeAll { now - $0.time >= limit.window }
        let vain = renewalTimes.filter { !$0.hadServed }
        let isVain = current?.hasServed != true && vain.count >= limit.count
        let tooMany = isVain ? vain : renewalTimes
        guard isVain || tooMany.count >= limit.count * PastRenewal.revocationsForOne else {
            return nil
        }
        let cause =
            isVain
            ? "the API refuses every token, so check scopes, audience and clocks"
            : "each was good until something revoked it, so check who else renews it"
        return rest(
            OAuthFailure(
                kind: OAuthFailure.excess,
                detail: "the token was renewed \(tooMany.count) times within "
                    + "\(limit.window.wholeSeconds) s; \(cause)",
                at: clock.wallNow
            ),
            for: limit.window - (now - (tooMany.first?.time ?? now))
        )
    }

    /// The credential is dead: nobody asks again until a person, or the store, brings another.
    func die(_ failure: OAuthFailure) -> WaitingRoom.Outcome {
        let isNews = trouble.death?.failure.detail != failure.detail
        trouble.death = Death(failure: failure, checkAgainAt: clock.now + Self.deathCheck)
        trouble.outage = nil
        trouble.lastFailure = failure
        if isNews { onEvent(.dead(failure)) }
        publish()
        return .dead(failure)
    }

    /// Puts a refused refresh token into quarantine: it is kept, with the reason, and not used.
    func bury(
        _ grant: TokenGrant,
        _ failure: TokenFailure,
        wasLost: Bool
    ) async -> WaitingRoom.Outcome {
        let cause =
            wasLost
            ? "; an earlier answer was lost, so the server probably replaced the refresh token"
            : ""
        var alternative = ""
        if case .refreshToken(_?) = configuration.grant {
            alternative = ", or configure another refresh token"
        }
        let dead = OAuthFailure(
            kind: failure.kind.rawValue,
            detail: failure.detail + cause + "; sign in again" + alternative,
            serverError: failure.serverError,
            at: clock.wallNow
        )
        if let secret = grant.refreshToken {
            var next = ledger.workingRecord
            next.intent = nil
            next.quarantine = TokenRecord.Quarantine(
                fingerprint: TokenRecord.fingerprint(secret),
                reason: dead.detail,
                since: dead.at
            )
            if await persist(next) == .overtaken { return yieldToStored() }
        }
        return die(dead)
    }

    func signInRequired() -> OAuthFailure {
        OAuthFailure(
            kind: TokenFailure.Class.invalidGrant.rawValue,
            detail: "nobody has signed in yet: there is no refresh token; sign in",
            at: clock.wallNow
        )
    }
}
