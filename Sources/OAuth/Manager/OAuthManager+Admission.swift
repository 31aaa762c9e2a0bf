import NetworkCore

extension OAuthManager {
    /// What a caller without a usable token does next.
    enum Admission {
        case credential(Credential)
        case wait(WaitingRoom)
        case refused(NetworkError)
    }

    func admit() -> Admission {
        let now = clock.moment
        if let admission = admitToProbe() { return admission }
        if let current, isUsable(current, at: now) { return .credential(current.credential) }
        if let renewal { return .wait(renewal.room) }
        if let refusal = standingRefusal(at: now) {
            // Invisible while the token lives, even in its very last part.
            if let current, isAlive(current, at: now) { return .credential(current.credential) }
            return .refused(refusal)
        }
        let reason: OAuthEvent.Reason =
            switch current?.doubt {
            case nil: .initial
            case .some(.none): .expired
            default: .unauthorized
            }
        return .wait(renew(reason).room)
    }

    /// What a caller gets whose wait brought no token; nothing if there is no reason to refuse it one.
    func settle() throws -> Credential? {
        let now = clock.moment
        if let current, isAlive(current, at: now) { return current.credential }
        if let refusal = standingRefusal(at: now) { throw refusal }
        return nil
    }

    /// Why the token endpoint is not to be asked now.
    func standingRefusal(at now: Moment) -> NetworkError? {
        if let death = trouble.death, now.steady < death.checkAgainAt {
            return NetworkError(
                .reauthorizationRequired,
                side: .proxy,
                detail: death.failure.detail
            )
        }
        if let outage = trouble.outage, now.steady < outage.until {
            return OAuthManager.unavailable(
                outage.failure.detail,
                retryAfter: max(1, (outage.until - now.steady).wholeSeconds)
            )
        }
        return nil
    }

    /// Whether a token may be given out without waiting for its successor.
    func isUsable(_ token: CurrentToken, at now: Moment) -> Bool {
        guard !token.token.isForOneUse, token.windows?.due.isReached(at: now) != true else {
            return false
        }
        switch token.doubt {
        case .none: return true
        case .suspected: return isAlive(token, at: now)
        case .refused: return false
        }
    }

    /// Whether a token may be given out at all: never behind its end, never when it is known bad,
    /// nor when it may be bad and no other can be had.
    ///
    /// Behind too many renewals a refused token stays in force: an endpoint that answers every token
    /// with 401 gets its 401 through to the app and does not end the whole channel.
    func isAlive(_ token: CurrentToken, at now: Moment) -> Bool {
        guard !token.token.isForOneUse, token.token.expiresAt?.isReached(at: now) != true else {
            return false
        }
        switch token.doubt {
        case .none: return true
        case .suspected: return trouble.death == nil
        case .refused: return trouble.outage?.failure.kind == OAuthFailure.excess
        }
    }

    /// Lets readers see the state as it is now.
    func publish() {
        let (isSignedIn, signedInUntil) = signedIn()
        var content = CredentialSnapshot.Content(isSignedIn: isSignedIn)
        content.signedInUntil = signedInUntil
        let now = clock.moment
        content.wantsWord = probe != nil || current?.doubt == .suspected
        if probe == nil, let current, isUsable(current, at: now) {
            content.credential = current.credential
            content.dueAt = current.windows?.due ?? .never
            content.staleAt = nextLook
            // The running renewal comes first.
            if renewal == nil, trouble.death == nil, let stale = current.windows?.stale,
                stale.steady < nextLook.steady
            {
                content.staleAt = stale
            }
        }
        if let outage = trouble.outage, outage.until > now.steady, probe == nil, let current,
            isAlive(current, at: now)
        {
            // Nobody is asked before the back-off ends, so readers need not ask the manager either.
            let end = now + (outage.until - now.steady)
            if content.credential == nil {
                content.credential = current.credential
                content.dueAt = current.token.expiresAt ?? .never
                if end.steady < content.dueAt.steady { content.dueAt = end }
            } else if content.staleAt.steady < end.steady {
                content.staleAt = end
            }
        }
        snapshot.publish(content)
    }

    static func unavailable(_ detail: String, retryAfter: Int) -> NetworkError {
        // Not "safe" to retry: the engine backs off for everybody, and a retry would only add to it.
        NetworkError(
            .credentialUnavailable,
            side: .upstream,
            detail: detail,
            retryAfter: retryAfter
        )
    }
}
