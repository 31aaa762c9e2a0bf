public import NetworkCore

extension OAuthManager {
    /// How long a token that was refused right behind its renewal is not renewed again.
    static var coolDown: Duration { .seconds(10) }
    /// The longest such pause for an API that refuses one new token after the other without a word on
    /// what is wrong.
    static var longestCoolDown: Duration { .seconds(60) }

    /// Judges a 401 by its challenges and by the generation of the token that was refused, and
    /// renews the token if that is the cure.
    ///
    /// A token that has been replaced since costs no token request. Waits at most the wait timeout
    /// or until the exchange's deadline; with `report` or `afterReplay` it does not wait.
    public nonisolated func rejected(_ rejection: Rejection) async -> Verdict {
        guard let generation = rejection.generation else { return .passThrough(.staticCredential) }
        let doubt: CurrentToken.Doubt
        let triage = ChallengeTriage.judge(
            rejection.headers,
            scheme: await scheme,
            isBound: configuration.proof != nil
        )
        switch triage {
        case .passThrough(let reason):
            // Who names what is wrong has looked at the token; another scheme's challenge says nothing.
            await hear(of: generation, reason == .foreignChallenge ? .nothing : .accepted)
            return .passThrough(reason)
        case .proofRefused: return await judgeProof(generation, rejection.intent)
        case .suspected: doubt = .suspected
        case .refused: doubt = .refused
        }
        let limit = waitLimit(rejection.deadline)
        let patience = patienceLimit(limit)
        while true {
            let verdict = await verdict(generation, doubt, rejection.intent, until: limit)
            guard verdict == .passThrough(.refreshFailed), rejection.intent == .replay,
                await outlivesFailure(until: patience, as: .replay)
            else { return verdict }
        }
    }

    /// The scheme that a challenge to the token at hand names.
    private var scheme: String {
        current?.token.scheme ?? (configuration.proof == nil ? "Bearer" : "DPoP")
    }

    /// The token was not judged: it stays as good as it was, and who tries it for others or has it
    /// alone keeps it.
    private func judgeProof(_ generation: Int, _ intent: Rejection.Intent) -> Verdict {
        if case .report(let reason) = intent {
            // Nobody tries it any longer.
            endProbe(of: generation, .nothing)
            return .passThrough(reason)
        }
        if let probe, probe.generation == generation { return .proveAgain(probe.credential) }
        guard let current, current.token.generation == generation, current.token.isForOneUse else {
            return .proveAgain(nil)
        }
        return .proveAgain(current.credential)
    }

    /// Judges, and waits for the renewal if there is one.
    private nonisolated func verdict(
        _ generation: Int,
        _ doubt: CurrentToken.Doubt,
        _ intent: Rejection.Intent,
        until limit: ContinuousClock.Instant
    ) async -> Verdict {
        let room: WaitingRoom
        switch await judge(generation, doubt, intent) {
        case .verdict(let verdict): return verdict
        case .wait(let waitingRoom): room = waitingRoom
        }
        switch await room.wait(until: limit, as: .replay) {
        case .outcome(.credential(let credential)) where credential.isForOneUse:
            return .replayOnce(credential)
        case .outcome(.credential), .outcome(.idle): return .replay
        case .outcome(.refusedAgain): return .passThrough(.tokenRefusedAgain)
        case .outcome(.sameToken): return .passThrough(.sameToken)
        case .outcome(.dead): return .passThrough(.reauthorizationRequired)
        case .outcome(.failed(let failure)): return .passThrough(OAuthManager.reason(failure))
        case .timedOut, .cancelled, .full: return .passThrough(.waitTimeout)
        }
    }

    private enum Judgement {
        case verdict(Verdict)
        case wait(WaitingRoom)
    }

    /// Comparison and joining happen here in one step, so that no renewal ends in between.
    private func judge(
        _ refused: Int,
        _ doubt: CurrentToken.Doubt,
        _ intent: Rejection.Intent
    ) -> Judgement {
        let now = clock.moment
        // A 401 without a reason is no word on the token, which others may have served well.
        endProbe(of: refused, doubt == .refused ? .refused : .nothing)
        if refused == generation, current?.token.generation == refused {
            if intent == .afterReplay, current?.isAdopted != true { settle(at: now) }
            if isSettled(doubt, at: now) {
                return .verdict(
                    .passThrough(intent == .afterReplay ? .alreadyReplayed : .tokenRefusedAgain)
                )
            }
            if let known = current?.doubt, known.rawValue < doubt.rawValue {
                current?.doubt = doubt
                if current?.credential.isProven == true { current?.hasServed = true }
                // The next request that it serves clears it of a suspicion, once all can see that.
                publish()
                current?.credential.unprove()
            }
        } else if intent == .afterReplay {
            return .verdict(.passThrough(.alreadyReplayed))
        }
        defer { publish() }
        let cure = cure(at: now)
        if case .verdict(.passThrough) = cure { return cure }
        return switch intent {
        case .replay: cure
        case .report(let reason): .verdict(.passThrough(reason))
        case .afterReplay: .verdict(.passThrough(.alreadyReplayed))
        }
    }

    /// As `admit()`, but a token that is in doubt is no answer.
    private func cure(at now: Moment) -> Judgement {
        if let probe { return .wait(probe.room) }
        if let current, current.doubt == .none, isUsable(current, at: now) {
            return .verdict(.replay)
        }
        if let renewal { return .wait(renewal.room) }
        if let death = trouble.death, now.steady < death.checkAgainAt {
            return .verdict(.passThrough(.reauthorizationRequired))
        }
        if let outage = trouble.outage, now.steady < outage.until {
            return .verdict(.passThrough(OAuthManager.reason(outage.failure)))
        }
        // The last renewal helped whoever wanted it.
        if current?.wasRefusedAnew != true { vainRenewals = 0 }
        return .wait(renew(current == nil ? .initial : .unauthorized).room)
    }

    /// A new token was refused as well: the next renewal is a while off, and ever longer where nobody
    /// says that it is the token.
    private func settle(at now: Moment) {
        if current?.wasRefusedAnew == false { vainRenewals += 1 }
        current?.wasRefusedAnew = true
        let pause = Self.coolDown * (1 << min(max(vainRenewals - 1, 0), 8))
        current?.settledUntil = now.steady + Self.coolDown
        current?.suspicionSettledUntil = now.steady + min(pause, Self.longestCoolDown)
    }

    /// Whether a renewal would be no cure for a 401.
    private func isSettled(_ doubt: CurrentToken.Doubt, at now: Moment) -> Bool {
        guard let current else { return false }
        if let settled = current.settledUntil, now.steady < settled { return true }
        guard doubt == .suspected, current.wasRefusedAnew else { return false }
        // Others have been served since: what one resource refuses has to do with that resource. If it
        // is the token all the same, the next 401 finds that nobody was.
        if current.credential.isProven {
            self.current?.hasServed = true
            current.credential.unprove()
            return true
        }
        return current.suspicionSettledUntil.map { now.steady < $0 } ?? false
    }

    private static func reason(_ failure: OAuthFailure) -> NotReplayed {
        failure.kind == OAuthFailure.excess ? .excess : .refreshFailed
    }
}
