import NetworkCore

/// The token in force, the trial of a new one, and the conclusions from 401s.
///
/// The part of `TokenEngine` that judges tokens; each method appends the actions that follow to `actions`.
struct TokenInForce {
    /// The last token, even if it has expired.
    private(set) var held: HeldToken?
    /// The number of tokens so far.
    private(set) var generation = 0
    private(set) var trial: TokenTrial?
    /// The number of tokens in a row that were refused by the replay for which they were requested.
    private var failedRenewals = 0

    /// Whether a generation is that of the token in force.
    func isInForce(_ generation: Int) -> Bool {
        generation == self.generation && held?.token.generation == generation
    }

    /// Puts a token in force.
    mutating func install(_ next: HeldToken, _ actions: inout [TokenAction]) {
        if trial?.generation != next.token.generation { dropTrial(&actions) }
        held = next
        generation = next.token.generation
        actions.append(.publish)
    }

    /// Takes the token out of force.
    mutating func drop(_ actions: inout [TokenAction]) {
        // A 401 to it is then one to an older generation.
        generation += 1
        held = nil
        dropTrial(&actions)
    }

    /// Renews the token in the background from this time on.
    mutating func advanceRenewal(to now: Moment) { held?.windows?.advance(to: now) }

    // MARK: - Trials

    /// Begins the trial of the token in force.
    mutating func startTrial(of credential: Credential) -> TokenTrial {
        let next = TokenTrial(generation, credential)
        trial = next
        return next
    }

    /// Notes that a request has the token on trial.
    mutating func takeTrial() { trial?.take() }

    /// Ends the trial of a token.
    mutating func endTrial(
        of generation: Int,
        _ finding: TokenTrial.Finding,
        _ actions: inout [TokenAction]
    ) {
        guard let trial, trial.generation == generation else { return }
        self.trial = nil
        let outcome: RenewalOutcome =
            switch finding {
            case .refused where trial.credential.mayPredateRefusal: .startOver
            case .refused: .refusedAgain
            case .accepted, .inconclusive: .credential(trial.credential)
            }
        actions += [.publish, .endTrial(outcome)]
    }

    /// Ends the trial of a token that is not in force any more: its waiters start over.
    private mutating func dropTrial(_ actions: inout [TokenAction]) {
        guard trial != nil else { return }
        trial = nil
        actions.append(.endTrial(.startOver))
    }

    // MARK: - 401s

    /// Raises the doubt in the token.
    mutating func raise(_ doubt: TokenStanding.Doubt, _ actions: inout [TokenAction]) {
        guard let credential = held?.credential, held?.standing.raise(doubt) == true else { return }
        if credential.isProven { held?.standing.noteAcceptance() }
        // The next successful request clears a suspicion, once requests can see that it counts.
        actions += [.publish, .unprove(credential)]
    }

    /// Notes that a replay with the token was refused.
    mutating func noteRefusedReplay(at now: Moment) {
        guard let standing = held?.standing, standing.provenance != .adopted else { return }
        if !standing.isRefusedOnReplay { failedRenewals += 1 }
        held?.standing.noteRefusedReplay(.init(failedRenewals: failedRenewals, at: now))
    }

    /// Forgets earlier failures if the last renewal helped: no replay with its token was refused.
    mutating func noteRenewal() {
        if held?.standing.isRefusedOnReplay != true { failedRenewals = 0 }
    }

    /// Whether a renewal would not help against a 401.
    mutating func isCoolingDown(
        for doubt: TokenStanding.Doubt,
        at now: Moment,
        _ actions: inout [TokenAction]
    ) -> Bool {
        guard let held else { return false }
        switch held.standing.coolDown(at: now) {
        case .over: return false
        case .active: return true
        case .suspicion where doubt != .suspected: return false
        case .suspicion(let isPaused):
            guard held.credential.isProven else { return isPaused }
            // Other requests have succeeded since, so the 401 is about that resource. If the token is bad
            // nevertheless, none has succeeded before the next 401.
            self.held?.standing.noteAcceptance()
            actions.append(.unprove(held.credential))
            return true
        }
    }

    /// Clears a suspicion after a request with the token has succeeded.
    mutating func clearSuspicion(of generation: Int, _ actions: inout [TokenAction]) {
        guard let held, held.token.generation == generation, held.standing.doubt == .suspected
        else { return }
        self.held?.standing.clearSuspicion()
        actions.append(.publish)
    }

    /// Judges a 401 to the proof of possession.
    ///
    /// The server has not judged the token: its standing and its trial continue, and a request that has the
    /// token alone keeps it.
    mutating func judgeProof(
        of generation: Int,
        _ intent: Rejection.Intent,
        _ actions: inout [TokenAction]
    ) -> Verdict {
        if case .report(let reason) = intent {
            // No request tries the token any longer.
            endTrial(of: generation, .inconclusive, &actions)
            return .passThrough(reason)
        }
        if let trial, trial.generation == generation { return .proveAgain(trial.credential) }
        guard let token = held?.token, token.generation == generation, token.isForOneUse else {
            return .proveAgain(nil)
        }
        return .proveAgain(held?.credential)
    }
}
