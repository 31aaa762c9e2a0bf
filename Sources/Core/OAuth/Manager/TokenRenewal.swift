import NetworkCore

/// One renewal: takes the store's lock, reads the store, presents the grant and stores the tokens.
///
/// This is the order of the steps; what each answer means is decided by the engine. It never throws, so
/// that no waiter waits for a result that was lost on the way.
struct TokenRenewal {
    private let reason: OAuthEvent.Reason
    /// The grant that a user has just obtained; `nil` for what the configuration presents.
    private let signInGrant: TokenGrant?
    private let service: any OAuthService
    private let access: TokenStoreAccess
    private let began: ContinuousClock.Instant
    private var configuration: OAuthConfiguration { access.configuration }
    private var clock: any NetworkClock { access.clock }

    /// Whether another refresh token from the store may still be presented.
    private var mayPresentAnother = true
    /// Whether a request whose answer was lost may still be sent again.
    private var mayRepeat = true
    /// Whether a request that was refused for its proof or its time may still be made again.
    private var mayMakeAgain = true
    /// Whether an earlier presentation of the refresh token had no known outcome.
    private var wasOpen = false
    /// The server's clock as it was known when the last request was stamped.
    private var clockOffset = Duration.zero
    /// When the first request was sent.
    private var firstSent: ContinuousClock.Instant?

    init(
        _ reason: OAuthEvent.Reason,
        presenting signInGrant: TokenGrant? = nil,
        service: any OAuthService,
        access: TokenStoreAccess
    ) {
        self.reason = reason
        self.signInGrant = signInGrant
        self.service = service
        self.access = access
        began = access.clock.now
    }

    /// Does it all.
    mutating func run(on manager: isolated OAuthManager) async -> RenewalOutcome {
        if signInGrant == nil {
            do {
                let settled = try await access.settleWithoutLock(for: reason, by: manager)
                if let settled { return settled }
            } catch {
                // A look that finds no store keeps no credential waiting that needs none.
                guard presentsStoredTokens else { return .askAgain }
                return manager.fail(storeFailure(error))
            }
            if let adopted = await access.adoptAtFirstSight(for: reason, by: manager) {
                return adopted
            }
        }
        let lock: TokenStoreLock?
        do {
            switch try await takeLock(for: manager) {
            case .taken(let taken): lock = taken
            case .notNeeded(let outcome): return outcome
            }
        } catch {
            return manager.fail(storeFailure(error))
        }
        defer { lock?.release() }
        if manager.engine.hasHandedOver {
            let detail = "a reload has given the tokens to another manager"
            return manager.fail(TokenFailure(.transient, detail: detail))
        }
        do {
            try await access.read(under: lock, for: manager)
        } catch {
            return manager.fail(storeFailure(error))
        }
        if let signInGrant { return await signIn(with: signInGrant, on: manager) }
        if manager.engine.isSignedInElsewhere, configuration.pinned != nil {
            // What this manager would store is of an older sign-in.
            let detail = "another process has signed in, and its sign-in is about to be taken over"
            return manager.fail(TokenFailure(.transient, detail: detail))
        }
        let adopted = manager.decide { [reason] engine, now in
            engine.adopt(for: reason, manager.jitter(), at: now)
        }
        if let adopted { return adopted }
        return await present(on: manager, under: lock)
    }

    private enum Locking {
        /// The store's lock; `nil` where it is safe to go on without it.
        case taken(TokenStoreLock?)
        /// Another process has renewed the token in the time.
        case notNeeded(RenewalOutcome)
    }

    private func takeLock(for manager: isolated OAuthManager) async throws -> Locking {
        let limit = began + configuration.lockTimeout
        do {
            guard signInGrant == nil, reason != .forced else {
                return .taken(try await access.store.lock(until: limit, clock: clock))
            }
            while true {
                let lock = try await access.store.lockUnlessChanged(until: limit, clock: clock)
                if let lock { return .taken(lock) }
                if let adopted = try await access.adoptNews(for: reason, by: manager) {
                    return .notNeeded(adopted)
                }
            }
        } catch TokenStoreError.unavailable(let detail) {
            // Without a lock file there is no other process that could hold the lock.
            manager.onEvent(.storeFailed(detail: detail))
            return .taken(nil)
        } catch TokenStoreError.unreadable(let detail) where !presentsStoredTokens {
            // The client's own credentials can be presented twice.
            manager.onEvent(.storeFailed(detail: detail))
            return .taken(nil)
        }
    }

    private var presentsStoredTokens: Bool {
        if case .refreshToken = configuration.grant { true } else { false }
    }

    private func storeFailure(_ error: any Error) -> TokenFailure {
        TokenFailure(.transient, detail: TokenStoreAccess.description(of: error))
    }

    // MARK: - Presenting

    /// Presents a grant that a user has just obtained, once.
    private func signIn(
        with grant: TokenGrant,
        on manager: isolated OAuthManager
    ) async -> RenewalOutcome {
        let sent = clock.moment
        do {
            let response = try await request(grant, sent)
            // Whatever was stored may be another user's.
            manager.decide { engine, _ in engine.ledger.dropAccessTokens() }
            return await accept(response, for: grant, sent: sent, on: manager)
        } catch {
            return .failed(OAuthFailure(error, at: clock.moment))
        }
    }

    /// Presents what the configuration says, and once more where that helps: after a lost answer, or
    /// when the store holds another refresh token than the one that was refused.
    private mutating func present(
        on manager: isolated OAuthManager,
        under lock: TokenStoreLock?
    ) async -> RenewalOutcome {
        while true {
            let grant: TokenGrant
            switch await nextGrant(on: manager) {
            case .grant(let next): grant = next
            case .end(let outcome): return outcome
            }
            // A forced renewal is no sign of an API that refuses every token.
            let isExpected =
                reason == .forced
                || manager.engine.current?.hasRunItsCourse(at: clock.moment) ?? false
            if !isExpected, let excess = manager.decide({ $0.excess(at: $1) }) { return excess }
            if let outcome = await announce(grant, on: manager) { return outcome }
            let wasAccepted = manager.engine.current?.standing.wasAccepted ?? false
            let sent = clock.moment
            if firstSent == nil { firstSent = sent.steady }
            clockOffset = service.clockOffset
            do {
                let response = try await request(grant.held(under: lock), sent)
                if !isExpected {
                    manager.decide { engine, _ in
                        engine.note(.init(time: sent.steady, replacedAcceptedToken: wasAccepted))
                    }
                }
                return await accept(response, for: grant, sent: sent, on: manager)
            } catch {
                let outcome = await outcome(of: error, grant, on: manager, under: lock)
                if let outcome { return outcome }
            }
        }
    }

    private func request(
        _ grant: TokenGrant,
        _ sent: Moment
    ) async throws(TokenFailure) -> TokenResponse {
        try await service.tokens(
            for: grant,
            configuration: configuration,
            deadline: sent.steady + configuration.requestTimeout
        )
    }

    private enum Step {
        case grant(TokenGrant)
        case end(RenewalOutcome)
    }

    /// What to present next, or how the renewal ends without a request.
    private func nextGrant(on manager: isolated OAuthManager) async -> Step {
        var grant: TokenGrant
        switch configuration.grant {
        case .clientCredentials, .provided:
            if reason == .recovery { return .end(.askAgain) }
            do {
                grant = try await makeGrant()
            } catch {
                return .end(manager.fail(error))
            }
        case .refreshToken:
            let outcome = manager.decide { [reason] engine, now in
                engine.outcomeOfNothingToPresent(for: reason, at: now)
            }
            if let outcome { return .end(outcome) }
            guard let token = manager.engine.ledger.refreshToken(for: reason) else {
                preconditionFailure("a refresh token is there unless the renewal ends")
            }
            grant = .refreshToken(
                token,
                scopes: configuration.narrowsScope ? configuration.scopes : []
            )
        }
        grant.reason = reason
        return .grant(grant)
    }

    private func makeGrant() async throws(TokenFailure) -> TokenGrant {
        guard case .provided(let provider) = configuration.grant else {
            return .clientCredentials(scopes: configuration.scopes)
        }
        var configuration = configuration
        configuration.issuer = configuration.issuer ?? service.issuer
        var grant = try await provider.grant(
            for: configuration,
            at: clock.wallNow + service.clockOffset
        )
        grant.isMadeAnew = true
        return grant
    }

    /// Notes durably that a refresh token is about to be presented, unless the server is known to leave it
    /// in force.
    ///
    /// - Returns: how the renewal ends; `nil` if the refresh token may be presented.
    private mutating func announce(
        _ grant: TokenGrant,
        on manager: isolated OAuthManager
    ) async -> RenewalOutcome? {
        guard let token = grant.refreshToken else {
            wasOpen = false
            return nil
        }
        let ledger = manager.engine.ledger
        wasOpen = ledger.openIntent(for: token) != nil
        guard ledger.record?.rotates != false else { return nil }
        let next = ledger.announcing(token, at: clock.wallNow)
        switch await access.save(next, for: manager) {
        case .overtaken: return manager.yieldToStored()
        // Another client's tokens may be stored, which a newly configured refresh token replaces.
        case .kept where access.store.isShared && (manager.isUnsaved || ledger.record != nil):
            // Nothing is presented, so there is nothing to note.
            manager.decide { engine, _ in engine.ledger.restore(ledger.record, ledger.isUnsaved) }
            let reason = manager.reportedFault ?? "the store failed"
            return manager.fail(
                TokenFailure(
                    .transient,
                    detail: "\(reason); nothing is renewed without a record of it"
                )
            )
        case .kept where manager.isUnsaved && manager.engine.canWait(reason, at: clock.moment):
            manager.decide { engine, _ in engine.ledger.restore(ledger.record) }
            let detail =
                "the rotated refresh token could not be saved; not refreshing while the access "
                + "token is still valid"
            return manager.fail(TokenFailure(.transient, detail: detail))
        case .kept, .stored: return nil
        }
    }

    /// Takes the note back: the answer says that the token was not spent.
    ///
    /// - Returns: how the renewal ends; `nil` if it goes on.
    private func retract(
        _ grant: TokenGrant,
        on manager: isolated OAuthManager
    ) async -> RenewalOutcome? {
        let ledger = manager.engine.ledger
        guard !wasOpen, grant.refreshToken != nil, ledger.record?.intent != nil else { return nil }
        let saving = await access.save(ledger.withoutIntent(), for: manager)
        return saving == .overtaken ? manager.yieldToStored() : nil
    }

    // MARK: - Answers

    /// Takes a good answer: durable first, then in force.
    private func accept(
        _ response: TokenResponse,
        for grant: TokenGrant,
        sent: Moment,
        on manager: isolated OAuthManager
    ) async -> RenewalOutcome {
        if configuration.proof != nil, !Grammar.equalIgnoringCase(response.scheme, "DPoP") {
            await keep(response.refreshToken, of: grant, on: manager)
            let detail = "the token is not bound to the key"
            return manager.fail(TokenFailure(.configuration, detail: detail))
        }
        let issued = IssuedToken(
            response,
            for: grant,
            reason,
            in: manager.engine,
            sent: sent,
            jitter: manager.jitter()
        )
        guard let issued else {
            let detail = "the token is unfit for a header field"
            return manager.fail(TokenFailure(.configuration, detail: detail))
        }
        let saving = await store(issued.token, from: response, for: grant, on: manager)
        if saving == .overtaken { return manager.yieldToStored() }
        return manager.decide { [began] engine, now in
            engine.install(issued, began: began, at: now)
        }
    }

    private func store(
        _ token: Token,
        from response: TokenResponse,
        for grant: TokenGrant,
        on manager: isolated OAuthManager
    ) async -> TokenLedger.Saving {
        let next = manager.engine.ledger.adding(token, from: response, for: grant, reason)
        manager.decide { engine, _ in engine.ledger.supersede() }
        var saving = await access.save(next, presented: grant.refreshToken, for: manager)
        // A sign-in here comes after every other.
        if saving == .overtaken, reason == .signIn {
            saving = await access.save(next, for: manager)
        }
        if saving == .stored { manager.onEvent(.stored(generation: token.generation)) }
        return saving
    }

    /// Keeps a refresh token that came in an answer of no other use.
    private func keep(
        _ refreshToken: Secret?,
        of grant: TokenGrant,
        on manager: isolated OAuthManager
    ) async {
        guard let refreshToken, let presented = grant.refreshToken else { return }
        let next = manager.engine.ledger.keeping(refreshToken)
        await access.save(next, presented: presented, for: manager)
    }

    /// What follows from a refusal: how the renewal ends, or `nil` if another request may help.
    private mutating func outcome(
        of failure: TokenFailure,
        _ grant: TokenGrant,
        on manager: isolated OAuthManager,
        under lock: TokenStoreLock?
    ) async -> RenewalOutcome? {
        await keep(failure.refreshToken, of: grant, on: manager)
        if mayMakeAgain, isOutOfDate(grant, failure) {
            mayMakeAgain = false
            // The answer says that nothing was spent: no note is open when it is presented again.
            return await retract(grant, on: manager)
        }
        switch failure.kind {
        case .lost where mayRepeat && isRepeatable(grant):
            mayRepeat = false
            return nil
        case .invalidGrant where grant.refreshToken != nil:
            do {
                guard mayPresentAnother,
                    try await storeHasAnother(than: grant, for: manager, under: lock)
                else { return await markDead(grant, failure, on: manager) }
            } catch {
                return manager.fail(storeFailure(error))
            }
            mayPresentAnother = false
            return nil
        default:
            if !failure.mayBeSpent, let overtaken = await retract(grant, on: manager) {
                return overtaken
            }
            return manager.fail(failure)
        }
    }

    /// Whether a refusal goes away when what was signed is signed again: with the nonce that came, or with
    /// the server's time, which has just been learned.
    private func isOutOfDate(_ grant: TokenGrant, _ failure: TokenFailure) -> Bool {
        guard !failure.mayBeSpent, failure.serverError != nil || grant.json != nil else {
            return false
        }
        if grant.isMadeAnew, configuration.proof != nil,
            ProofOfPossession.isAtFault(failure.serverError)
        {
            return true
        }
        let isAssertion = grant.secretParameters.contains { $0.name == TokenGrant.assertionName }
        let isSigned = isAssertion || configuration.clientAuthentication == .privateKeyJWT
        let isRefused =
            failure.kind == .configuration || (failure.kind == .invalidGrant && isAssertion)
        // The client may have learned the time on its way to the endpoint, and stamped with it.
        let stamped = isAssertion ? clockOffset : failure.clockOffset
        let moved = service.clockOffset - (stamped ?? clockOffset)
        return isSigned && isRefused && max(moved, .zero - moved) >= ServerClock.blur
    }

    private func isRepeatable(_ grant: TokenGrant) -> Bool {
        guard let firstSent, grant.refreshToken != nil,
            case .repeatWithin(let window) = configuration.lostResponse
        else { return false }
        return clock.now - firstSent <= window
    }

    /// Whether the store holds another refresh token than the one that was refused: then another process
    /// was faster, or someone has signed in.
    ///
    /// - Throws: `TokenStoreError.unreadable`: then it is not known.
    private func storeHasAnother(
        than grant: TokenGrant,
        for manager: isolated OAuthManager,
        under lock: TokenStoreLock?
    ) async throws -> Bool {
        do {
            try await access.read(under: lock, for: manager)
        } catch {
            if case TokenStoreError.unreadable = error { throw error }
            return false
        }
        guard let token = manager.engine.ledger.refreshToken(),
            let presented = grant.refreshToken
        else { return false }
        return token != presented
    }

    /// Puts a refused refresh token in quarantine, and marks the credential as dead.
    private func markDead(
        _ grant: TokenGrant,
        _ failure: TokenFailure,
        on manager: isolated OAuthManager
    ) async -> RenewalOutcome {
        var dead = OAuthFailure(failure, at: clock.moment)
        if wasOpen || !mayRepeat {
            dead.detail +=
                "; an earlier answer was lost, so the server probably replaced the refresh token"
        }
        dead.detail += "; sign in again"
        if case .refreshToken(_?) = configuration.grant {
            dead.detail += ", or configure another refresh token"
        }
        if let token = grant.refreshToken {
            let next = manager.engine.ledger.quarantining(token, dead)
            if await access.save(next, for: manager) == .overtaken {
                return manager.yieldToStored()
            }
        }
        return manager.decide { $0.markDead(dead, at: $1) }
    }
}

/// How long the steps of a renewal may take.
extension OAuthConfiguration {
    /// The longest a renewal may take: waiting for the lock, its token requests, the disk.
    var renewalTimeout: Duration { lockTimeout + tokenRequestsTimeout + .seconds(5) }

    /// The minimum time granted after the machine resumes from suspension: as long as the transport goes
    /// on to wait for an answer.
    var timeoutAfterResume: Duration { requestTimeout + .seconds(5) }

    /// How long to wait for another process that renews: as long as it may take.
    var lockTimeout: Duration { tokenRequestsTimeout + .seconds(2) }

    /// Three token requests, with a search for metadata and another proof where those apply.
    private var tokenRequestsTimeout: Duration {
        let search = issuer == nil ? Duration.zero : .seconds(10)
        let proof = proof == nil ? .zero : requestTimeout
        return requestTimeout * 3 + search + proof
    }
}

extension TokenGrant {
    /// Returns the grant, which is then presented only while the lock is held.
    fileprivate func held(under lock: TokenStoreLock?) -> TokenGrant {
        guard refreshToken != nil, let lock else { return self }
        var grant = self
        grant.mayBePresented = { lock.isHeld }
        return grant
    }
}
