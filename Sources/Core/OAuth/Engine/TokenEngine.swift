import NetworkCore

/// The state of one credential and every decision about it, as a value: no actor, clock, disk or
/// network.
///
/// `OAuthManager` reports events with their time, and performs the actions that follow. The table of
/// states and events is in <doc:TokenEngine>. Random numbers and times come in as arguments. It reads
/// one variable that others write, `Credential.isProven`: whether a request with the token succeeded.
struct TokenEngine {
    let configuration: OAuthConfiguration
    private var token = TokenInForce()
    private(set) var renewal: RenewalInProgress?
    private(set) var backoff = RenewalBackoff()
    /// The time of the next check of the store for changes by others.
    private(set) var nextStoreCheck = Moment.never
    /// Whether a successor has the record that could not be written: nothing is presented any more.
    private(set) var hasHandedOver = false
    private var ledger: TokenLedger
    private var excessGuard: RenewalExcessGuard
    /// Counts renewals.
    private var renewalCount = 0
    /// Whether the store holds the tokens of a sign-in that this engine was not made for.
    private(set) var isSignedInElsewhere = false
    /// The last reported `token_type`.
    private var reportedType: String?
    private var actions: [TokenAction] = []

    init(_ configuration: OAuthConfiguration) {
        self.configuration = configuration
        ledger = TokenLedger(configuration)
        excessGuard = RenewalExcessGuard(configuration.excessGuard)
    }

    /// The last token, even if it has expired.
    var current: HeldToken? { token.held }
    /// The number of tokens so far.
    var generation: Int { token.generation }
    var trial: TokenTrial? { token.trial }

    /// Returns, once, the actions that follow from the decisions since the last call.
    mutating func takeActions() -> [TokenAction] {
        defer { actions = [] }
        return actions
    }

    // MARK: - Events

    /// Changes the state after an event.
    ///
    /// - Returns: the actions, in order.
    mutating func handle(_ event: TokenEvent, at now: Moment) -> [TokenAction] {
        switch event {
        case .responded(let generation, let finding): noteResponse(of: generation, finding)
        case .trialTokenTaken: token.takeTrial()
        case .staleTokenRead: renewEarly(at: now)
        case .renewalEnded(let ended, let outcome, let waiting): end(ended, outcome, waiting)
        case .renewalOverdue(let late, let jitter): abandon(late, jitter, at: now)
        case .storeChecked(let found, let check, let jitter):
            if isCurrent(check), ledger.isNews(found) { takeChange(found, jitter, at: now) }
            postponeStoreCheck(at: now)
            actions.append(.publish)
        case .storeCheckFailed:
            postponeStoreCheck(at: now)
            actions.append(.publish)
        case .forgetting:
            dropToken()
            clearBackoff()
            ledger.apply(.forgotten)
            actions.append(.publish)
        case .removalEnded:
            // An abandoned renewal may have got its tokens after all.
            if current != nil { dropToken() }
            ledger.apply(.forgotten)
            actions.append(.publish)
        }
        return takeActions()
    }

    // MARK: - A request needs a token

    /// Admits a request that found no token in the snapshot; starts a renewal if one is needed.
    mutating func admit(at now: Moment) -> Admission<WaitQueue> {
        if let trial {
            guard trial.isOffered else { return .wait(.trial) }
            token.takeTrial()
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

    /// Decides about a request whose wait brought no token: it gets the last one while that lives, or a
    /// refusal; with `nil` it starts over.
    func admitAfterWait(at now: Moment) -> Admission<WaitQueue>? {
        if let current, current.isAlive(at: now, backoff) { return .credential(current.credential) }
        return backoff.refusal(at: now).map { .refused($0) }
    }

    // MARK: - A request was answered

    /// Judges a 401 that casts doubt on a token, and starts a renewal if that may help.
    ///
    /// The comparison with the current token and joining a renewal are one step, so that no renewal ends in
    /// between.
    mutating func judge(
        _ doubt: TokenStanding.Doubt,
        of refused: Int,
        _ intent: Rejection.Intent,
        at now: Moment
    ) -> Judgement<WaitQueue> {
        // A 401 without a reason says nothing about the token, which may have served others well.
        token.endTrial(of: refused, doubt == .refused ? .refused : .inconclusive, &actions)
        if token.isInForce(refused) {
            if intent == .afterReplay { token.noteRefusedReplay(at: now) }
            if token.isCoolingDown(for: doubt, at: now, &actions) {
                return .verdict(
                    .passThrough(intent == .afterReplay ? .alreadyReplayed : .tokenRefusedAgain)
                )
            }
            token.raise(doubt, &actions)
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

    /// As `admit(at:)`, but a token in doubt does not count.
    private mutating func remedy(at now: Moment) -> Judgement<WaitQueue> {
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
        token.noteRenewal()
        startRenewal(current == nil ? .initial : .unauthorized)
        return .wait(.renewal)
    }

    /// Judges a 401 to the proof of possession, which says nothing about the token.
    mutating func judgeProof(of generation: Int, _ intent: Rejection.Intent) -> Verdict {
        token.judgeProof(of: generation, intent, &actions)
    }

    private mutating func noteResponse(of generation: Int, _ finding: TokenTrial.Finding) {
        token.endTrial(of: generation, finding, &actions)
        // A dead credential is reported as dead even if a public path succeeds.
        guard finding == .accepted, backoff.death == nil else { return }
        token.clearSuspicion(of: generation, &actions)
    }

    private mutating func dropToken() { token.drop(&actions) }

    // MARK: - Renewals

    /// Begins a renewal; none may be in progress.
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
        let trial = token.startTrial(of: credential)
        actions += [.publish, .startTrial(trial, after: ended)]
    }

    private mutating func abandon(_ late: RenewalInProgress, _ jitter: Double, at now: Moment) {
        guard renewal == late else { return }
        renewal = nil
        let failure = TokenFailure(.lost, detail: "the token request did not end in time")
        let outcome = fail(failure, jitter: jitter, at: now)
        actions += [.publish, .abandonRenewal(late, outcome)]
    }

    /// Whether a renewal can wait: no request needs it, and the token is good.
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
        // The next request makes another grant, from a token in a file for instance.
        if case .provided = configuration.grant, kind == .invalidGrant { kind = .transient }
        let limit = configuration.retryAfterLimit
        return pause(
            backoff.fail(failure, as: kind, retryAfterLimit: limit, jitter: jitter, at: now)
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

    /// Marks the credential as dead for lack of a refresh token.
    private mutating func markSignedOut(at now: Moment) -> RenewalOutcome {
        // A sign-out elsewhere: the token is not used any longer.
        if ledger.record?.isSignedOut != false, current != nil { dropTokenOfSignOut() }
        return markDead(.signedOut(ledger.record, at: now), at: now)
    }

    /// Whether a renewal would end without a request by the known facts.
    func hasNothingToPresent(for reason: OAuthEvent.Reason) -> Bool {
        guard case .refreshToken = configuration.grant else { return reason == .recovery }
        if case .refreshToken = ledger.candidate(for: reason) { return false }
        return true
    }

    /// The refresh token that a renewal presents, or its end without a request.
    enum NextToken {
        case refreshToken(Secret)
        case end(RenewalOutcome)
    }

    /// Returns the refresh token for a renewal; without one the renewal ends.
    mutating func nextRefreshToken(for reason: OAuthEvent.Reason, at now: Moment) -> NextToken {
        switch ledger.candidate(for: reason) {
        case .refreshToken(let token): .refreshToken(token)
        case .nothingToDo: .end(.startOver)
        case .dead(let failure): .end(markDead(failure, at: now))
        case .missing: .end(markSignedOut(at: now))
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
        token.install(next, &actions)
        clearBackoff()
        backoff.succeed()
    }

    // MARK: - The store

    /// Learns the revisions that an earlier process or another one has seen.
    mutating func learn(revisions: [String: Int]) { ledger.learn(revisions: revisions) }

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

    /// Compares the stored record with the one in memory.
    ///
    /// - Returns: the record that counts now.
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
            actions.append(.report(.storeFailed(.foreign, detail: detail)))
        case .lost:
            let detail =
                "the stored tokens have disappeared, and nobody has signed out; those in memory are "
                + "stored again"
            actions += [.report(.storeFailed(.lost, detail: detail)), .write]
        case .outdated:
            let end = record == nil ? "not used" : "replaced by those in memory"
            let detail = "the stored tokens are an older copy of those used here; they are \(end)"
            actions += [.report(.storeFailed(.outdated, detail: detail)), .write]
        case .takeStored:
            // Another refresh token, or none: the death of the one before does not concern it.
            if before != found?.refreshToken { backoff.revive() }
        }
        return result
    }

    private mutating func takeChange(_ found: TokenRecord?, _ jitter: Double, at now: Moment) {
        let before = ledger.record?.refreshToken
        if learn(found) == .takeStored {
            if let found, !found.isSignedOut {
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
        // Another process is about to renew, or has died doing so. The server's grace period runs, so
        // the next request takes the lock and reads the store.
        if ledger.record?.intent != nil { token.advanceRenewal(to: now) }
    }

    /// Takes the token out of force after a sign-out elsewhere.
    private mutating func dropTokenOfSignOut() {
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

    /// Uses the record that another process stored during the renewal.
    mutating func yieldToStored(_ jitter: Double, at now: Moment) -> RenewalOutcome {
        clearBackoff()
        if let adopted = adopt(for: .external, jitter, at: now) { return adopted }
        // Perhaps another user's refresh token: the token in force has no successor.
        dropToken()
        return .startOver
    }

    /// Gives the record that could not be written to a successor; from then on nothing is presented, as
    /// the successor may have replaced it.
    mutating func handOver() -> (TokenRecord, StoredState)? {
        guard let unsaved = ledger.handOver() else { return nil }
        hasHandedOver = true
        return unsaved
    }

    // MARK: - The record

    /// The record of the tokens in memory.
    var record: TokenRecord? { ledger.record }
    /// Whether the record in memory could not be written.
    var isUnsaved: Bool { ledger.isUnsaved }
    /// The highest seen revision of each session.
    var revisions: [String: Int] { ledger.revisions }
    /// Whether a later record than the one in memory has been seen.
    var isOutdated: Bool { ledger.isOutdated }
    /// Whether the store's lock stays held until the record in memory is written.
    var mustKeepLock: Bool { ledger.mustKeepLock }
    /// Whether the refresh token exists nowhere else.
    var isOnlyHolder: Bool { ledger.isOnlyHolder }
    /// The record as it is now, to go back to.
    var bookmark: TokenLedger.Bookmark { ledger.bookmark }

    /// Whether a token can be obtained without a new sign-in, and the known end of that time.
    var signIn: (exists: Bool, until: UnixTime?) {
        guard case .refreshToken = configuration.grant else { return (true, nil) }
        guard backoff.death == nil, let token = ledger.refreshToken(),
            ledger.quarantine(of: token) == nil
        else { return (false, nil) }
        return (true, token == record?.refreshToken ? record?.refreshExpiresAt : nil)
    }

    /// Whether an earlier presentation of the refresh token has no known outcome.
    func history(of token: Secret) -> RenewalPlan.History {
        ledger.openIntent(for: token) == nil ? .known : .open
    }

    /// Whether there is another refresh token to present than this one.
    func hasRefreshToken(otherThan presented: Secret?) -> Bool {
        guard let presented, let token = ledger.refreshToken() else { return false }
        return token != presented
    }

    /// Returns the record with a change.
    func record(with entry: TokenLedger.RecordChange) -> TokenRecord { ledger.record(with: entry) }

    /// Replaces the record in memory; returns the draft to write, if it may be written.
    mutating func stage(_ next: TokenRecord, presented: Secret?) -> TokenLedger.Draft? {
        ledger.stage(next, presented: presented)
    }

    /// Decides whether to write over a record that another process has written without the lock.
    mutating func resolveConflict(
        saving draft: TokenLedger.Draft,
        found: TokenRecord?
    ) -> TokenLedger.Conflict {
        ledger.resolveConflict(saving: draft, found: found)
    }

    /// Changes the record, or the known state of the store.
    mutating func apply(_ change: TokenLedger.Change) { ledger.apply(change) }
}
