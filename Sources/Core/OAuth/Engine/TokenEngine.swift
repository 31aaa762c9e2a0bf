import NetworkCore

/// The state of one credential and every decision about it, as a value: no actor, clock, disk or
/// network.
///
/// `OAuthManager` reports what happened and when, and performs the actions that follow; the table of
/// states and events is in <doc:TokenEngine>. Random numbers and times come in as arguments. The one
/// thing it reads that others write is `Credential.isProven`: whether a request with the token was
/// answered.
struct TokenEngine {
    /// What a request waits for.
    enum Queue {
        case renewal
        case trial
    }

    let configuration: OAuthConfiguration
    /// The last token, also one that has expired.
    private(set) var current: HeldToken?
    /// Counts the tokens.
    private(set) var generation = 0
    private(set) var renewal: RenewalInProgress?
    private(set) var trial: TokenTrial?
    private(set) var backoff = RenewalBackoff()
    /// When to check whether the store was changed elsewhere.
    private(set) var nextStoreCheck = Moment.never
    /// Whether a successor has the record that could not be written: nothing is presented any more.
    private(set) var hasHandedOver = false
    /// The record of the tokens, in memory and in the store.
    var ledger: TokenLedger
    private var excessGuard: RenewalExcessGuard
    /// Counts renewals.
    private var renewalCount = 0
    /// Whether the store holds the tokens of a sign-in that this engine was not made for.
    private(set) var isSignedInElsewhere = false
    /// The `token_type` that was reported last.
    private var reportedType: String?
    /// How many tokens in a row were refused by the replay that their renewal was for.
    private var failedRenewals = 0
    private var actions: [TokenAction] = []

    init(_ configuration: OAuthConfiguration) {
        self.configuration = configuration
        ledger = TokenLedger(configuration)
        excessGuard = RenewalExcessGuard(configuration.excessGuard)
    }

    /// Returns, once, the actions that the decisions since the last call ask for.
    mutating func takeActions() -> [TokenAction] {
        defer { actions = [] }
        return actions
    }

    // MARK: - Events

    /// Changes the state by what happened.
    ///
    /// - Returns: what to do now, in order.
    mutating func handle(_ event: TokenEvent, at now: Moment) -> [TokenAction] {
        switch event {
        case .answered(let generation, let finding): noteAnswer(of: generation, finding)
        case .trialTokenTaken: trial?.take()
        case .staleTokenRead: renewEarly(at: now)
        case .renewalEnded(let ended, let outcome, let waiting): end(ended, outcome, waiting)
        case .renewalOverdue(let late, let jitter): abandon(late, jitter, at: now)
        case .storeChecked(let found, let check, let jitter):
            if isCurrent(check), ledger.isNews(found) { takeChange(found, jitter, at: now) }
            postponeStoreCheck(at: now)
            actions.append(.publish)
        case .storeVanished(let check):
            if isCurrent(check) { ledger.noteStoreLost() }
            postponeStoreCheck(at: now)
            actions.append(.publish)
        case .storeCheckFailed:
            ledger.noteFailedLook()
            postponeStoreCheck(at: now)
            actions.append(.publish)
        case .forgetting:
            dropToken()
            clearBackoff()
            ledger.forget()
            actions.append(.publish)
        case .removalEnded:
            // A renewal that was abandoned may have got its tokens after all.
            if current != nil { dropToken() }
            ledger.forget()
            actions.append(.publish)
        }
        return takeActions()
    }

    // MARK: - A request needs a token

    /// What a request without a usable token does next.
    enum Admission: Equatable {
        case credential(Credential)
        case wait(Queue)
        case refused(RenewalBackoff.Refusal)
    }

    /// Admits a request that found no token in the snapshot; starts a renewal if one is needed.
    mutating func admit(at now: Moment) -> Admission {
        if let trial {
            guard trial.isOffered else { return .wait(.trial) }
            self.trial?.take()
            return .credential(trial.credential)
        }
        if let current, current.isUsable(at: now, backoff) {
            return .credential(current.credential)
        }
        if renewal != nil { return .wait(.renewal) }
        if let refusal = backoff.refusal(at: now) {
            // A failed renewal is invisible while the token lives, even at its very end.
            if let current, current.isAlive(at: now, backoff) {
                return .credential(current.credential)
            }
            return .refused(refusal)
        }
        let reason: OAuthEvent.Reason =
            switch current?.standing.doubt {
            case nil: .initial
            case .some(.none): .expired
            default: .unauthorized
            }
        startRenewal(reason)
        return .wait(.renewal)
    }

    /// What a request gets whose wait brought no token: the last one while it lives, a refusal, or `nil` if
    /// it is to ask again.
    func answerAfterWait(at now: Moment) -> Admission? {
        if let current, current.isAlive(at: now, backoff) { return .credential(current.credential) }
        return backoff.refusal(at: now).map { .refused($0) }
    }

    // MARK: - A request was answered

    /// What to do with a 401.
    enum Judgement: Equatable {
        case verdict(Verdict)
        case wait(Queue)
    }

    /// Judges a 401 that casts doubt on a token, and starts a renewal if that may help.
    ///
    /// The comparison with the current token and joining a renewal are one step, so that no renewal ends in
    /// between.
    mutating func judge(
        _ doubt: TokenStanding.Doubt,
        of refused: Int,
        _ intent: Rejection.Intent,
        at now: Moment
    ) -> Judgement {
        // A 401 without a reason says nothing about the token, which may have served others well.
        endTrial(of: refused, doubt == .refused ? .refused : .inconclusive)
        if refused == generation, current?.token.generation == refused {
            if intent == .afterReplay { noteRefusedReplay(at: now) }
            if isCoolingDown(for: doubt, at: now) {
                return .verdict(
                    .passThrough(intent == .afterReplay ? .alreadyReplayed : .tokenRefusedAgain)
                )
            }
            raise(doubt)
        } else if intent == .afterReplay {
            return .verdict(.passThrough(.alreadyReplayed))
        }
        defer { actions.append(.publish) }
        let remedy = remedy(at: now)
        if case .verdict(.passThrough) = remedy { return remedy }
        return switch intent {
        case .replay: remedy
        case .report(let reason): .verdict(.passThrough(reason))
        case .afterReplay: .verdict(.passThrough(.alreadyReplayed))
        }
    }

    /// As `admit(at:)`, but a token in doubt is no answer.
    private mutating func remedy(at now: Moment) -> Judgement {
        if trial != nil { return .wait(.trial) }
        if let current, current.standing.doubt == .none, current.isUsable(at: now, backoff) {
            return .verdict(.replay)
        }
        if renewal != nil { return .wait(.renewal) }
        switch backoff.refusal(at: now) {
        case .dead: return .verdict(.passThrough(.reauthorizationRequired))
        case .paused(let failure, _): return .verdict(.passThrough(NotReplayed(failure)))
        case nil: break
        }
        // The last renewal helped: its token was not refused on replay.
        if current?.standing.isRefusedOnReplay != true { failedRenewals = 0 }
        startRenewal(current == nil ? .initial : .unauthorized)
        return .wait(.renewal)
    }

    private mutating func raise(_ doubt: TokenStanding.Doubt) {
        guard let credential = current?.credential, current?.standing.raise(doubt) == true else {
            return
        }
        if credential.isProven { current?.standing.noteAcceptance() }
        // The next request that is answered clears a suspicion, once requests can see that it counts.
        actions += [.publish, .unprove(credential)]
    }

    private mutating func noteRefusedReplay(at now: Moment) {
        guard let standing = current?.standing, standing.provenance != .adopted else { return }
        if !standing.isRefusedOnReplay { failedRenewals += 1 }
        current?.standing.noteRefusedReplay(.init(failedRenewals: failedRenewals, at: now))
    }

    /// Whether a renewal would not help against a 401.
    private mutating func isCoolingDown(for doubt: TokenStanding.Doubt, at now: Moment) -> Bool {
        guard let current else { return false }
        switch current.standing.coolDown(at: now) {
        case .over: return false
        case .active: return true
        case .suspicion where doubt != .suspected: return false
        case .suspicion(let isPaused):
            guard current.credential.isProven else { return isPaused }
            // Other requests have been answered since, so the 401 is about that resource. If it is the
            // token all the same, the next 401 finds that none was.
            self.current?.standing.noteAcceptance()
            actions.append(.unprove(current.credential))
            return true
        }
    }

    /// Judges a 401 to the proof of possession: the token was not judged, so its standing and its trial go
    /// on, and a request that has the token alone keeps it.
    mutating func judgeProof(of generation: Int, _ intent: Rejection.Intent) -> Verdict {
        if case .report(let reason) = intent {
            // No request tries the token any longer.
            endTrial(of: generation, .inconclusive)
            return .passThrough(reason)
        }
        if let trial, trial.generation == generation { return .proveAgain(trial.credential) }
        guard let token = current?.token, token.generation == generation, token.isForOneUse else {
            return .proveAgain(nil)
        }
        return .proveAgain(current?.credential)
    }

    private mutating func noteAnswer(of generation: Int, _ finding: TokenTrial.Finding) {
        endTrial(of: generation, finding)
        guard finding == .accepted, let current, current.token.generation == generation,
            // A dead credential is reported as dead, whatever a public path answers.
            current.standing.doubt == .suspected, backoff.death == nil
        else { return }
        self.current?.standing.clearSuspicion()
        actions.append(.publish)
    }

    private mutating func endTrial(of generation: Int, _ finding: TokenTrial.Finding) {
        guard let trial, trial.generation == generation else { return }
        self.trial = nil
        let outcome: RenewalOutcome =
            switch finding {
            case .refused where trial.credential.mayPredateRefusal: .askAgain
            case .refused: .refusedAgain
            case .accepted, .inconclusive: .credential(trial.credential)
            }
        actions += [.publish, .endTrial(outcome)]
    }

    /// Ends the trial of a token that is no longer in force: its waiters ask again.
    private mutating func dropTrial() {
        guard trial != nil else { return }
        trial = nil
        actions.append(.endTrial(.askAgain))
    }

    /// Takes the token out of force.
    mutating func dropToken() {
        // Counted up, so that a 401 to it is one to an older generation.
        generation += 1
        current = nil
        dropTrial()
    }

    // MARK: - Renewals

    /// Takes the place of the one renewal, which must be free.
    mutating func begin(_ reason: OAuthEvent.Reason) -> RenewalInProgress {
        renewalCount += 1
        let next = RenewalInProgress(id: renewalCount, reason: reason)
        renewal = next
        actions.append(.publish)
        return next
    }

    private mutating func startRenewal(_ reason: OAuthEvent.Reason) {
        actions.append(.startRenewal(begin(reason)))
    }

    private mutating func renewEarly(at now: Moment) {
        guard renewal == nil, !backoff.isQuiet(at: now), backoff.death == nil, let current,
            current.standing.doubt != .refused, current.isStale(at: now)
        else { return actions.append(.publish) }
        startRenewal(.early)
    }

    private mutating func end(_ ended: RenewalInProgress, _ outcome: RenewalOutcome, _ waiting: Int)
    {
        if renewal == ended { renewal = nil }
        guard ended.reason == .unauthorized, case .credential(let credential) = outcome,
            waiting > TokenTrial.threshold, !credential.isProven
        else {
            actions += [.publish, .endRenewal(ended, outcome)]
            return
        }
        let trial = TokenTrial(generation, credential)
        self.trial = trial
        actions += [.publish, .startTrial(trial, after: ended)]
    }

    private mutating func abandon(_ late: RenewalInProgress, _ jitter: Double, at now: Moment) {
        guard renewal == late else { return }
        renewal = nil
        let failure = TokenFailure(.lost, detail: "the token request did not end in time")
        let outcome = fail(failure, jitter: jitter, at: now)
        actions += [.publish, .abandonRenewal(late, outcome)]
    }

    /// Whether a renewal can wait: no request asked for it, and the token is good.
    func canWait(_ reason: OAuthEvent.Reason, at now: Moment) -> Bool {
        guard reason == .early, let current, current.standing.doubt == .none else { return false }
        return current.isAlive(at: now, backoff)
    }

    /// Refuses a token request that would be one too many; `nil` if it may be made.
    mutating func excess(at now: Moment) -> RenewalOutcome? {
        guard let excess = excessGuard.refusal(replacing: current?.standing, at: now) else {
            return nil
        }
        return pause(backoff.pause(excess.failure, for: excess.pause, at: now))
    }

    /// Counts a renewal for the excess guard.
    mutating func note(_ renewal: RenewalExcessGuard.Renewal) { excessGuard.note(renewal) }

    /// Pauses after a failed token request; the failure is the same for every request.
    mutating func fail(
        _ failure: TokenFailure,
        jitter: Double,
        at now: Moment
    ) -> RenewalOutcome {
        var kind = failure.kind
        // The next request makes another grant, of a token in a file, say.
        if case .provided = configuration.grant, kind == .invalidGrant { kind = .transient }
        return pause(
            backoff.fail(
                failure,
                as: kind,
                retryAfterLimit: configuration.retryAfterLimit,
                jitter: jitter,
                at: now
            )
        )
    }

    private mutating func pause(_ failure: OAuthFailure) -> RenewalOutcome {
        actions += [.startPause, .report(.failed(failure)), .publish]
        return .failed(failure)
    }

    /// Marks the credential as dead.
    mutating func markDead(_ failure: OAuthFailure, at now: Moment) -> RenewalOutcome {
        if backoff.pause != nil { actions.append(.endPause) }
        if backoff.markDead(failure, at: now) { actions.append(.report(.dead(failure))) }
        actions.append(.publish)
        return .dead(failure)
    }

    /// Marks the credential as dead because there is no refresh token.
    mutating func markSignedOut(at now: Moment) -> RenewalOutcome {
        // A sign-out elsewhere: the token is not used any longer.
        if ledger.record == nil, current != nil { dropTokenOfSignOut() }
        let failure = OAuthFailure(
            kind: TokenFailure.Class.invalidGrant.rawValue,
            detail: "not signed in: there is no refresh token; sign in",
            at: now.wall
        )
        return markDead(failure, at: now)
    }

    /// Whether, as far as is known, a renewal ends without a request.
    func hasNothingToPresent(for reason: OAuthEvent.Reason) -> Bool {
        guard case .refreshToken = configuration.grant else { return reason == .recovery }
        if case .refreshToken = ledger.nextRefreshToken(for: reason) { return false }
        return true
    }

    /// How a renewal ends that has nothing to present; `nil` if it has something.
    mutating func outcomeOfNothingToPresent(
        for reason: OAuthEvent.Reason,
        at now: Moment
    ) -> RenewalOutcome? {
        guard case .refreshToken = configuration.grant else { return .askAgain }
        return switch ledger.nextRefreshToken(for: reason) {
        case .refreshToken: nil
        case .nothingToDo: .askAgain
        case .dead(let failure): markDead(failure, at: now)
        case .missing: markSignedOut(at: now)
        }
    }

    private mutating func clearBackoff() {
        if backoff.pause != nil { actions.append(.endPause) }
        backoff.clear()
    }

    // MARK: - Tokens

    /// Puts an issued token in force.
    ///
    /// - Parameters:
    ///   - issued: the token.
    ///   - began: when its renewal began.
    ///   - now: the time.
    /// - Returns: how the renewal ends.
    mutating func install(
        _ issued: IssuedToken,
        began: ContinuousClock.Instant,
        at now: Moment
    ) -> RenewalOutcome {
        let next = issued.held(at: now)
        install(next)
        if let type = issued.unusualType, type != reportedType {
            reportedType = type
            actions.append(.report(.unusualType(type, scheme: next.token.scheme)))
        }
        if issued.change == .sameInDoubt { return .sameToken }
        let event = OAuthEvent.refreshed(
            generation: generation,
            reason: issued.reason,
            duration: now.steady - began
        )
        actions.append(.report(event))
        return .credential(next.credential)
    }

    private mutating func install(_ next: HeldToken) {
        if trial?.generation != next.token.generation { dropTrial() }
        current = next
        generation = next.token.generation
        clearBackoff()
        backoff.succeed()
        actions.append(.publish)
    }

    // MARK: - The store

    /// Begins a check of the store for changes.
    func beginStoreCheck() -> StoreCheck {
        StoreCheck(stored: ledger.stored, renewalCount: renewalCount)
    }

    /// Whether the manager itself has done nothing since a check began: otherwise it knows better.
    private func isCurrent(_ check: StoreCheck) -> Bool {
        renewal == nil && renewalCount == check.renewalCount && ledger.stored == check.stored
            && !ledger.isUnsaved
    }

    /// Whether no renewal has begun since a check began.
    func hasBegunNoRenewal(since check: StoreCheck) -> Bool { renewalCount == check.renewalCount }

    /// Puts the next check for changes off.
    mutating func postponeStoreCheck(at now: Moment) { nextStoreCheck = now + .seconds(10) }

    /// Takes note of what the store holds.
    ///
    /// - Returns: which record counts now.
    @discardableResult
    mutating func learn(_ found: TokenRecord?) -> StoreReconciliation {
        let before = ledger.record?.refreshToken
        let result = ledger.learn(found)
        isSignedInElsewhere =
            configuration.isDiscovered && found?.pinned?.isNews(after: configuration.pinned) == true
        if isSignedInElsewhere { actions.append(.report(.signedInElsewhere)) }
        switch result {
        case .keepMemory: break
        case .foreign where isSignedInElsewhere: break
        case .foreign:
            let detail =
                "the stored tokens belong to another client or token endpoint and are not used"
            actions.append(.report(.storeFailed(detail: detail)))
        case .takeStored:
            // Another refresh token, or none: what was said of the one before does not hold for it.
            if before != found?.refreshToken { backoff.revive() }
        }
        return result
    }

    private mutating func takeChange(_ found: TokenRecord?, _ jitter: Double, at now: Moment) {
        let before = ledger.record?.refreshToken
        if learn(found) == .takeStored {
            if let found {
                // Perhaps another user's refresh token: the token in force has no successor.
                if adopt(for: .external, jitter, at: now) == nil, before != found.refreshToken,
                    configuration.isOfConfiguredSeed(found),
                    found.accessTokens[configuration.credentialKey]?.value != current?.token.value
                {
                    dropToken()
                }
            } else {
                dropTokenOfSignOut()
            }
        }
        // Another process is about to renew, or has died doing so: the server's grace period runs, so the
        // next request asks for the lock and sees.
        if ledger.record?.intent != nil { current?.windows?.advance(to: now) }
    }

    /// Takes the token out of force after a sign-out elsewhere.
    mutating func dropTokenOfSignOut() {
        dropToken()
        actions.append(.report(.forgotten))
    }

    /// Puts the stored access token in force, if that helps.
    ///
    /// - Returns: how a renewal for `reason` ends with it; `nil` if there is more to do.
    mutating func adopt(
        for reason: OAuthEvent.Reason,
        _ jitter: Double,
        at now: Moment
    ) -> RenewalOutcome? {
        guard reason != .forced, let record = ledger.record,
            let adopted = HeldToken(
                adopting: record,
                for: reason,
                replacing: current,
                generation: generation + 1,
                configuration,
                jitter: jitter,
                at: now
            )
        else { return nil }
        install(adopted)
        actions.append(.report(.adopted(generation: generation)))
        return reason == .recovery && record.intent != nil ? nil : .credential(adopted.credential)
    }

    /// Goes on with what another process stored while a renewal was in progress.
    mutating func yieldToStored(_ jitter: Double, at now: Moment) -> RenewalOutcome {
        clearBackoff()
        if let adopted = adopt(for: .external, jitter, at: now) { return adopted }
        // Perhaps another user's refresh token: the token in force has no successor.
        dropToken()
        return .askAgain
    }

    /// Gives the record that could not be written to a successor; from then on nothing is presented, as
    /// the successor may have replaced it.
    mutating func handOver() -> (TokenRecord, StoredState)? {
        guard let unsaved = ledger.handOver() else { return nil }
        hasHandedOver = true
        return unsaved
    }
}
