import NetworkCore

extension OAuthManager {
    /// Does one renewal: lock, look into the store, ask the token endpoint, store, publish.
    ///
    /// Never throws, so that nobody waits for an answer that was lost on the way.
    ///
    /// - Parameters:
    ///   - reason: why.
    ///   - grant: what a person has just obtained; nothing for what the configuration presents.
    /// - Returns: what everybody who waits is told.
    func outcome(
        of reason: OAuthEvent.Reason,
        presenting grant: TokenGrant?
    ) async -> WaitingRoom.Outcome {
        let began = clock.now
        if grant == nil, let adopted = await adoptAtFirstSight(for: reason) { return adopted }
        let lock: TokenStoreLock?
        do {
            lock = try await store.lock(
                until: began + Renewal.lockTimeout(configuration),
                clock: clock
            )
        } catch TokenStoreError.unavailable(let detail) {
            // Without a lock file there is no other process to respect that could have one.
            onEvent(.storeFailed(detail: detail))
            lock = nil
        } catch TokenStoreError.unreadable(let detail) where !presentsStoredTokens {
            // The client's own credentials can be presented twice.
            onEvent(.storeFailed(detail: detail))
            lock = nil
        } catch {
            return fail(TokenFailure(.transient, detail: OAuthManager.words(error)))
        }
        defer { lock?.release() }
        guard !hasLeft else { return failBehindSuccessor() }
        do {
            try await readStore(under: lock)
        } catch {
            return fail(TokenFailure(.transient, detail: OAuthManager.words(error)))
        }
        if let grant { return await signIn(presenting: grant, began: began) }
        if let adopted = adopt(for: reason) { return adopted }
        return await present(reason, began: began, under: lock)
    }

    /// Takes a good token that another manager or process has left in the store, where nothing is known
    /// yet: whoever has the lock may have it for as long as a slow server takes.
    ///
    /// - Returns: what that comes to where there is nothing to settle under the lock.
    private func adoptAtFirstSight(
        for reason: OAuthEvent.Reason
    ) async -> WaitingRoom.Outcome? {
        guard current == nil, ledger.record == nil, reason != .forced else { return nil }
        if let predecessor {
            // A look at the start goes on to the lock, and takes over what the other has by then.
            guard reason == .recovery, await !predecessor.isUnsaved else { return nil }
        }
        let found: TokenRecord?
        do {
            found = try await store.load()
        } catch {
            // Under the lock it is clear what that means.
            return nil
        }
        guard let found, !hasLeft, current == nil, ledger.record == nil,
            learn(found) == .stored
        else { return nil }
        nextLook = clock.moment + OAuthManager.lookInterval
        let adopted = adopt(for: reason)
        return predecessor == nil ? adopted : nil
    }

    /// Whether what is presented stands in the store.
    private var presentsStoredTokens: Bool {
        if case .refreshToken = configuration.grant { true } else { false }
    }

    /// What one renewal has tried so far.
    private struct Attempts {
        /// Whether another refresh token of the store may still be presented.
        var mayPresentAnother = true
        /// Whether a request whose answer was lost may still be sent again.
        var mayRepeat = true
        /// Whether a request that was refused for its proof or its time may be made anew.
        var mayMakeAnew = true
        /// The server's clock as it was known when the last request was stamped.
        var clockOffset = Duration.zero
        /// When the first request was sent.
        var firstSent: ContinuousClock.Instant?
    }

    /// Presents the grant, and once more where that is the way out: after a lost answer, or when the
    /// store holds another refresh token than the one that was refused.
    private func present(
        _ reason: OAuthEvent.Reason,
        began: ContinuousClock.Instant,
        under lock: TokenStoreLock?
    ) async -> WaitingRoom.Outcome {
        var attempts = Attempts()
        while true {
            let grant: TokenGrant
            switch await grantToPresent(for: reason) {
            case .success(let next): grant = next
            case .failure(let nothing): return nothing.outcome
            }
            // What a person asks for is no sign of an API that refuses every token.
            let isExpected = hasRunItsCourse || reason == .forced
            if !isExpected, let excess = excess() { return excess }
            let wasOpen: Bool
            switch await announce(grant, for: reason) {
            case .presentable(let isOpen): wasOpen = isOpen
            case .overtaken: return yieldToStored()
            case .unkept:
                return fail(
                    TokenFailure(
                        .transient,
                        detail: "another refresh token could not be kept; this one is not "
                            + "presented while its access token is good"
                    )
                )
            }
            let hadServed = current?.hasServed ?? false
            let sent = clock.moment
            if attempts.firstSent == nil { attempts.firstSent = sent.steady }
            attempts.clockOffset = service.clockOffset
            do {
                let response = try await service.tokens(
                    for: grant,
                    configuration: configuration,
                    deadline: sent.steady + configuration.requestTimeout
                )
                if !isExpected {
                    noteRenewal(PastRenewal(time: sent.steady, hadServed: hadServed))
                }
                return await accept(
                    response,
                    grant: grant,
                    reason: reason,
                    sent: sent,
                    began: began
                )
            } catch {
                let outcome = await consequence(of: error, grant, wasOpen, &attempts, under: lock)
                if let outcome { return outcome }
            }
        }
    }

    /// Why nothing is presented.
    private struct NothingToPresent: Error {
        let outcome: WaitingRoom.Outcome
    }

    private func grantToPresent(
        for reason: OAuthEvent.Reason
    ) async -> Result<TokenGrant, NothingToPresent> {
        do {
            switch try await nextGrant(reason) {
            case .grant(var grant):
                grant.reason = reason
                return .success(grant)
            case .nothingToDo: return .failure(NothingToPresent(outcome: .idle))
            case .dead(let failure): return .failure(NothingToPresent(outcome: die(failure)))
            case .missing:
                // Signed out elsewhere: what is here is not used any longer.
                if ledger.record == nil, current != nil {
                    dropToken()
                    onEvent(.forgotten)
                }
                return .failure(NothingToPresent(outcome: die(signInRequired())))
            }
        } catch {
            return .failure(NothingToPresent(outcome: fail(error)))
        }
    }

    /// What a refusal means for everybody who waits; nothing if another request is the way out.
    private func consequence(
        of failure: TokenFailure,
        _ grant: TokenGrant,
        _ wasOpen: Bool,
        _ attempts: inout Attempts,
        under lock: TokenStoreLock?
    ) async -> WaitingRoom.Outcome? {
        await keep(failure.refreshToken, grant: grant)
        if attempts.mayMakeAnew, isOutOfDate(grant, failure, attempts) {
            attempts.mayMakeAnew = false
            // The answer says that nothing was spent: no note stands open when it is presented again.
            let note = await retract(grant, wasOpen: wasOpen)
            return note == .overtaken ? yieldToStored() : nil
        }
        switch failure.kind {
        case .lost where attempts.mayRepeat && isRepeatable(grant, since: attempts.firstSent):
            attempts.mayRepeat = false
            return nil
        case .invalidGrant where grant.refreshToken != nil:
            let wasLost = wasOpen || !attempts.mayRepeat
            do {
                let mayPresent = attempts.mayPresentAnother
                guard mayPresent, try await findsAnother(than: grant, under: lock) else {
                    return await bury(grant, failure, wasLost: wasLost)
                }
            } catch {
                return fail(TokenFailure(.transient, detail: OAuthManager.words(error)))
            }
            attempts.mayPresentAnother = false
            return nil
        default:
            if !failure.mayBeSpent, await retract(grant, wasOpen: wasOpen) == .overtaken {
                return yieldToStored()
            }
            return fail(failure)
        }
    }

    /// Whether a refusal goes away when what was signed is signed anew: with the nonce that came, or
    /// with the server's time, which has just been learned.
    private func isOutOfDate(
        _ grant: TokenGrant,
        _ failure: TokenFailure,
        _ attempts: Attempts
    ) -> Bool {
        guard !failure.mayBeSpent, failure.serverError != nil else { return false }
        if grant.isMadeAnew, configuration.proof != nil,
            ProofOfPossession.isAtFault(failure.serverError)
        {
            return true
        }
        let isAssertion = grant.secretParameters.contains { $0.name == "assertion" }
        let isSigned = isAssertion || configuration.clientAuthentication == .privateKeyJWT
        let isRefused =
            failure.kind == .configuration || (failure.kind == .invalidGrant && isAssertion)
        // The client may have learned the time on its way to the endpoint, and stamped with it.
        let stamped = isAssertion ? attempts.clockOffset : failure.clockOffset
        let moved = service.clockOffset - (stamped ?? attempts.clockOffset)
        return isSigned && isRefused && max(moved, .zero - moved) >= ServerClock.blur
    }

    private func isRepeatable(
        _ grant: TokenGrant,
        since first: ContinuousClock.Instant?
    ) -> Bool {
        guard let first, grant.refreshToken != nil,
            case .repeatWithin(let window) = configuration.lostResponse
        else { return false }
        return clock.now - first <= window
    }

    /// Takes a good answer: durable first, then published.
    func accept(
        _ response: TokenResponse,
        grant: TokenGrant,
        reason: OAuthEvent.Reason,
        sent: Moment,
        began: ContinuousClock.Instant
    ) async -> WaitingRoom.Outcome {
        if configuration.proof != nil, !Grammar.equalIgnoringCase(response.scheme, "DPoP") {
            await keep(response.refreshToken, grant: grant)
            return fail(
                TokenFailure(.configuration, detail: "the token is not bound to the key")
            )
        }
        let isSame = response.accessToken == current?.token.value
        // A doubt that is over meanwhile was the reason all the same.
        let isDoubted = current.map { $0.doubt != .none || reason == .unauthorized } ?? false
        let next = generation + (isSame ? 0 : 1)
        let token = makeToken(response, grant: grant, sent: sent, generation: next)
        let windows = TokenWindows(
            token,
            refreshBefore: configuration.refreshBefore,
            jitter: jitter()
        )
        guard var candidate = CurrentToken(token, windows: windows) else {
            return fail(
                TokenFailure(.configuration, detail: "the token is unfit for a header field")
            )
        }
        let saving = await remember(token, response: response, grant: grant, reason: reason)
        if saving == .overtaken { return yieldToStored() }
        if isSame {
            // No progress, as with servers that cache (google-auth#863): nothing new before a while.
            let pause = Duration.seconds(60)
            candidate.windows?.postpone(to: clock.moment + pause)
            if isDoubted { candidate.settledUntil = clock.now + Self.coolDown }
        }
        install(candidate)
        if isSame && isDoubted { return .sameToken }
        onEvent(.refreshed(generation: next, reason: reason, duration: clock.now - began))
        return .credential(candidate.credential)
    }

    private func makeToken(
        _ response: TokenResponse,
        grant: TokenGrant,
        sent: Moment,
        generation: Int
    ) -> Token {
        let lifetime = configuration.lifetime(of: response)
        // RFC 6749 §6: a refresh token that is presented without scopes keeps those it has.
        let kept = ledger.record?.accessTokens[configuration.credentialKey]
        let known = current?.token.scope ?? kept?.scope
        let inherited = grant.refreshToken == nil ? nil : known
        return Token(
            value: response.accessToken,
            issuedAt: sent,
            expiresAt: lifetime.map { sent + $0 },
            refreshAt: response.refreshIn.map { sent + $0 },
            refreshToken: response.refreshToken ?? grant.refreshToken,
            generation: generation,
            scope: response.scope ?? inherited ?? configuration.scopes.joined(separator: " "),
            scheme: response.scheme,
            isForOneUse: lifetime == .zero,
            proof: configuration.proof
        )
    }

    func install(_ next: CurrentToken) {
        if probe?.generation != next.token.generation { dropProbe() }
        current = next
        generation = next.token.generation
        trouble.clear()
        trouble.lastFailure = nil
        publish()
    }

    /// A clause for an error of the store; anything else may hold anything.
    static func words(_ error: any Error) -> String {
        switch error {
        case let error as TokenStoreError: error.description
        case is CancellationError: "the renewal was cancelled"
        default: "the token store failed"
        }
    }
}
