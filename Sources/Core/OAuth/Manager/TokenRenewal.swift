import NetworkCore

/// Performs one renewal: takes the store's lock, reads the store, presents the grant and stores the tokens.
///
/// `TokenEngine` decides about tokens, `RenewalPlan` about the next step after a refusal. `run` never throws,
/// so that every waiter gets a result.
struct TokenRenewal {
    private let reason: OAuthEvent.Reason
    /// The grant that a user has just obtained; `nil` for the configured one.
    private let signInGrant: TokenGrant?
    private let service: any OAuthService
    private let access: TokenStoreAccess
    private let began: ContinuousClock.Instant
    private var plan = RenewalPlan()
    /// The time of the first request.
    private var firstSent: ContinuousClock.Instant?
    private var configuration: OAuthConfiguration { access.configuration }
    private var clock: any NetworkClock { access.clock }

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

    /// Renews the token.
    mutating func run(on manager: isolated OAuthManager) async -> RenewalOutcome {
        if let outcome = await finishWithoutLock(on: manager) { return outcome }
        let lock: TokenStoreLock?
        do {
            switch try await takeLock(for: manager) {
            case .taken(let taken): lock = taken
            case .notNeeded(let outcome): return outcome
            }
        } catch {
            return manager.fail(storeFailure(error))
        }
        defer { manager.release(lock) }
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
            // The tokens of this renewal would belong to an older sign-in.
            let detail = "another process has signed in, and its sign-in is about to be taken over"
            return manager.fail(TokenFailure(.transient, detail: detail))
        }
        let adopted = manager.decide { [reason] engine, now in
            engine.adopt(for: reason, manager.jitter(), at: now)
        }
        if let adopted { return adopted }
        return await present(on: manager, under: lock)
    }

    /// Ends the renewal before it waits for the lock, if the store has a token or nothing can be presented.
    private func finishWithoutLock(on manager: isolated OAuthManager) async -> RenewalOutcome? {
        guard signInGrant == nil else { return nil }
        do {
            let settled = try await access.settleWithoutLock(for: reason, by: manager)
            if let settled { return settled }
        } catch {
            // A credential that needs no store does not wait for it.
            return access.presentsStoredTokens ? manager.fail(storeFailure(error)) : .startOver
        }
        return await access.adoptAtFirstSight(for: reason, by: manager)
    }

    private enum Locking {
        /// The store's lock; `nil` if the renewal is safe without it.
        case taken(TokenStoreLock?)
        /// Another process has renewed the token meanwhile.
        case notNeeded(RenewalOutcome)
    }

    private func takeLock(for manager: isolated OAuthManager) async throws -> Locking {
        let limit = began + configuration.lockTimeout
        do {
            guard signInGrant == nil, reason != .forced else {
                return .taken(try await access.lock(until: limit, .always, for: manager))
            }
            while true {
                let lock = try await access.lock(until: limit, .unlessChanged, for: manager)
                if let lock { return .taken(lock) }
                if let adopted = try await access.adoptNews(for: reason, by: manager) {
                    return .notNeeded(adopted)
                }
            }
        } catch let error as TokenStoreError
            where !access.presentsStoredTokens && error.fault != .locked
        {
            // Only a refresh token must not be presented twice.
            access.report(error, to: manager)
            return .taken(nil)
        } catch {
            access.note(error, of: manager)
            throw error
        }
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
            // The stored access tokens may be another user's.
            manager.decide { engine, _ in engine.apply(.accessTokensDropped) }
            return await accept(response, for: grant, sent: sent, on: manager)
        } catch {
            return .failed(OAuthFailure(error, at: clock.moment))
        }
    }

    /// Presents the configured grant, again each time that the plan says so.
    private mutating func present(
        on manager: isolated OAuthManager,
        under lock: TokenStoreLock?
    ) async -> RenewalOutcome {
        while true {
            let presentation: RenewalPlan.Presentation
            switch await nextPresentation(on: manager) {
            case .grant(let next): presentation = next
            case .end(let outcome): return outcome
            }
            // Only a renewal after a 401 points to an API that refuses every token.
            let isCounted = reason == .unauthorized
            if isCounted, let excess = manager.decide({ $0.excess(at: $1) }) { return excess }
            if let outcome = await announce(presentation.grant, on: manager) { return outcome }
            let wasAccepted = manager.engine.current?.standing.wasAccepted ?? false
            switch await send(presentation, on: manager, under: lock) {
            case .accepted(let response, let sent):
                if isCounted {
                    manager.decide { engine, _ in
                        engine.note(.init(time: sent.steady, replacedAcceptedToken: wasAccepted))
                    }
                }
                return await accept(response, for: presentation.grant, sent: sent, on: manager)
            case .presentAgain: continue
            case .end(let outcome): return outcome
            }
        }
    }

    private enum NextPresentation {
        case grant(RenewalPlan.Presentation)
        case end(RenewalOutcome)
    }

    /// Makes the next grant, or ends the renewal without a request.
    private func nextPresentation(on manager: isolated OAuthManager) async -> NextPresentation {
        var grant: TokenGrant
        var use = RenewalPlan.Presentation.Use.repeatedly
        switch configuration.grant {
        case .clientCredentials:
            if reason == .recovery { return .end(.startOver) }
            grant = .clientCredentials(scopes: configuration.scopes)
        case .provided(let provider):
            if reason == .recovery { return .end(.startOver) }
            do {
                grant = try await makeGrant(by: provider)
                use = .once
            } catch {
                return .end(manager.fail(error))
            }
        case .refreshToken:
            let next = manager.decide { [reason] engine, now in
                engine.nextRefreshToken(for: reason, at: now)
            }
            switch next {
            case .end(let outcome): return .end(outcome)
            case .refreshToken(let token):
                let scopes = configuration.narrowsScope ? configuration.scopes : []
                grant = .refreshToken(token, scopes: scopes)
            }
        }
        grant.reason = reason
        grant.repeats = .byCaller
        return .grant(.init(grant: grant, use: use, clockOffset: service.clockOffset))
    }

    private func makeGrant(
        by provider: any GrantProviding
    ) async throws(TokenFailure) -> TokenGrant {
        var configuration = configuration
        configuration.issuer = configuration.issuer ?? service.issuer
        return try await provider.grant(
            for: configuration,
            at: clock.wallNow + service.clockOffset
        )
    }

    /// Notes durably that a refresh token is about to be presented, unless the server is known to leave it
    /// in force.
    ///
    /// - Returns: the end of the renewal; `nil` if the refresh token may be presented.
    private mutating func announce(
        _ grant: TokenGrant,
        on manager: isolated OAuthManager
    ) async -> RenewalOutcome? {
        guard let token = grant.refreshToken else {
            plan.present(.known)
            return nil
        }
        plan.present(manager.engine.history(of: token))
        let before = manager.engine.bookmark
        guard before.record?.rotates != false else { return nil }
        let entry = TokenLedger.RecordChange.announcement(of: token, at: clock.wallNow)
        switch await access.save(entry, for: manager) {
        case .overtaken: return manager.yieldToStored()
        // Another client's tokens may be stored, which a newly configured refresh token replaces.
        case .kept where access.store.isShared && (manager.isUnsaved || before.record != nil):
            // Nothing is presented, so there is nothing to note.
            manager.decide { engine, _ in engine.apply(.withdrawn(to: before)) }
            let reason = manager.reportedFault ?? "the store failed"
            return manager.fail(
                TokenFailure(
                    .transient,
                    detail: "\(reason); nothing is renewed without a record of it"
                )
            )
        case .kept where manager.isUnsaved && manager.engine.canWait(reason, at: clock.moment):
            manager.decide { engine, _ in engine.apply(.withdrawn(to: before.writtenAgain)) }
            let detail =
                "the rotated refresh token could not be saved; not refreshing while the access "
                + "token is still valid"
            return manager.fail(TokenFailure(.transient, detail: detail))
        case .kept, .stored: return nil
        }
    }

    private enum Sending {
        case accepted(TokenResponse, sent: Moment)
        case presentAgain
        case end(RenewalOutcome)
    }

    /// Sends a grant, and again while the plan wants only another request.
    private mutating func send(
        _ presentation: RenewalPlan.Presentation,
        on manager: isolated OAuthManager,
        under lock: TokenStoreLock?
    ) async -> Sending {
        let grant = presentation.grant.held(under: lock)
        while true {
            let sent = clock.moment
            let secret = configuration.presentedSecret
            firstSent = firstSent ?? sent.steady
            let failure: TokenFailure
            do {
                return .accepted(try await request(grant, sent), sent: sent)
            } catch {
                failure = error
            }
            await keep(failure.refreshToken, of: grant, on: manager)
            let refusal = RenewalPlan.Refusal(
                failure,
                of: presentation,
                configuration,
                circumstances
            )
            let next = await follow(refusal, failure, grant, secret, on: manager, under: lock)
            if let next { return next }
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

    private var circumstances: RenewalPlan.Circumstances {
        .init(
            clockOffset: service.clockOffset,
            elapsed: firstSent.map { clock.now - $0 } ?? .zero
        )
    }

    // MARK: - Refusals

    /// Performs the steps after a refusal.
    ///
    /// - Parameters:
    ///   - refusal: the facts that the plan decides by.
    ///   - failure: the refusal.
    ///   - grant: the refused grant.
    ///   - secret: the client's secret in the refused request.
    ///   - manager: the manager of the tokens.
    ///   - lock: the store's lock.
    /// - Returns: `nil` if the request is sent again.
    private mutating func follow(
        _ refusal: RenewalPlan.Refusal,
        _ failure: TokenFailure,
        _ grant: TokenGrant,
        _ secret: Secret?,
        on manager: isolated OAuthManager,
        under lock: TokenStoreLock?
    ) async -> Sending? {
        while true {
            switch plan.next(after: refusal) {
            case .send: return nil
            case .sendWithNewSecret:
                if await configuration.renewSecret(afterRefusalOf: secret) { return nil }
            case .present: return .presentAgain
            case .retractAndPresent:
                return await retract(grant, on: manager).map { .end($0) } ?? .presentAgain
            case .presentOtherToken:
                do {
                    if try await storeHasOther(than: grant, for: manager, under: lock) {
                        return .presentAgain
                    }
                } catch {
                    return .end(manager.fail(storeFailure(error)))
                }
            case .end(let ending): return .end(await end(ending, failure, grant, on: manager))
            }
        }
    }

    private func end(
        _ ending: RenewalPlan.Ending,
        _ failure: TokenFailure,
        _ grant: TokenGrant,
        on manager: isolated OAuthManager
    ) async -> RenewalOutcome {
        switch ending {
        case .pause: return manager.fail(failure)
        case .pauseAndRetract:
            return await retract(grant, on: manager) ?? manager.fail(failure)
        case .death(let history): return await markDead(grant, failure, history, on: manager)
        }
    }

    /// Removes the note of the presentation: the response says that the token was not spent.
    ///
    /// - Returns: the end of the renewal; `nil` if it continues.
    private func retract(
        _ grant: TokenGrant,
        on manager: isolated OAuthManager
    ) async -> RenewalOutcome? {
        guard plan.history == .known, grant.refreshToken != nil,
            manager.engine.record?.intent != nil
        else { return nil }
        let saving = await access.save(.retraction, for: manager)
        return saving == .overtaken ? manager.yieldToStored() : nil
    }

    /// Keeps a refresh token from a response without another use.
    private func keep(
        _ refreshToken: Secret?,
        of grant: TokenGrant,
        on manager: isolated OAuthManager
    ) async {
        guard let refreshToken, let presented = grant.refreshToken else { return }
        await access.save(.refreshToken(refreshToken), presented: presented, for: manager)
    }

    /// Whether the store holds another refresh token than the refused one: then another process was faster,
    /// or someone has signed in.
    ///
    /// - Throws: `TokenStoreError`: then it is not known.
    private func storeHasOther(
        than grant: TokenGrant,
        for manager: isolated OAuthManager,
        under lock: TokenStoreLock?
    ) async throws -> Bool {
        try await access.read(under: lock, for: manager)
        return manager.engine.hasRefreshToken(otherThan: grant.refreshToken)
    }

    /// Puts a refused refresh token in quarantine, and marks the credential as dead.
    private func markDead(
        _ grant: TokenGrant,
        _ failure: TokenFailure,
        _ history: RenewalPlan.History,
        on manager: isolated OAuthManager
    ) async -> RenewalOutcome {
        var dead = OAuthFailure(failure, at: clock.moment)
        if history == .open {
            dead.detail +=
                "; an earlier answer was lost, so the server probably replaced the refresh token"
        }
        dead.detail += "; sign in again"
        if case .refreshToken(_?) = configuration.grant {
            dead.detail += ", or configure another refresh token"
        }
        if let token = grant.refreshToken {
            let saving = await access.save(.quarantine(token, dead), for: manager)
            if saving == .overtaken { return manager.yieldToStored() }
        }
        return manager.decide { $0.markDead(dead, at: $1) }
    }

    // MARK: - Tokens

    /// Stores the tokens of a response durably, then puts them in force.
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
        let next = manager.engine.record(with: .tokens(token, response, for: grant, reason))
        manager.decide { engine, _ in engine.apply(.superseded) }
        var saving = await access.save(next, presented: grant.refreshToken, for: manager)
        // A sign-in here comes after every other.
        if saving == .overtaken, reason == .signIn {
            saving = await access.save(next, for: manager)
        }
        if saving == .stored { manager.onEvent(.stored(generation: token.generation)) }
        return saving
    }
}

/// The time limits of a renewal's steps.
extension OAuthConfiguration {
    /// The longest time of a renewal: waiting for the lock, its token requests, the disk.
    var renewalTimeout: Duration { lockTimeout + tokenRequestsTimeout + .seconds(5) }

    /// The minimum time for a renewal after the machine resumes from suspension: the transport waits that
    /// long for a response.
    var timeoutAfterResume: Duration { requestTimeout + .seconds(5) }

    /// The longest wait for the lock while another process renews.
    var lockTimeout: Duration { tokenRequestsTimeout + .seconds(2) }

    /// Three token requests, with a search for metadata and another proof if they apply.
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
