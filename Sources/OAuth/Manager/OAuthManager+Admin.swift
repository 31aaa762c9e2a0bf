import NetworkCore

extension OAuthManager {
    /// Looks into the store before the first request does: takes over a token that is still good,
    /// and settles a renewal whose outcome was not known when the process stopped.
    ///
    /// Makes no other token request. Returns when that is done.
    public func start() async {
        guard current == nil, renewal == nil else { return }
        _ = await renew(.recovery).room.wait(
            until: clock.now + Renewal.limit(configuration),
            as: .command
        )
    }

    /// Looks into the store again: somebody may have signed in there.
    ///
    /// Makes no token request, but to settle one whose outcome was not known. Returns when what was
    /// found is in force.
    ///
    /// - Throws: `NetworkError` of kind `.credentialUnavailable`, for one where the store cannot be
    ///   read, `.reauthorizationRequired` or `.cancelled`.
    public func lookIntoStore() async throws {
        try await waitForRenewal()
        try await finish(renew(.recovery).room)
    }

    /// Asks the token endpoint for a new token now, whatever is at hand.
    ///
    /// Waits for a renewal that is going on and then makes its own; neither the back-off nor the excess
    /// guard holds it up.
    ///
    /// - Throws: `NetworkError` of kind `.credentialUnavailable`, `.reauthorizationRequired` or
    ///   `.cancelled`.
    public func forceRefresh() async throws {
        try await waitForRenewal()
        try await finish(renew(.forced).room)
    }

    /// Waits for what a command has begun, and throws what it came to unless that is good.
    private func finish(_ room: WaitingRoom) async throws {
        let limit = clock.now + Renewal.limit(configuration)
        switch await room.wait(until: limit, as: .command) {
        case .outcome(.credential), .outcome(.sameToken), .outcome(.refusedAgain), .outcome(.idle):
            return
        case .outcome(.dead(let failure)):
            throw NetworkError(.reauthorizationRequired, side: .proxy, detail: failure.detail)
        case .outcome(.failed(let failure)):
            let seconds = failure.nextAttempt.map { max(1, ($0 - clock.wallNow).wholeSeconds) }
            throw OAuthManager.unavailable(failure.detail, retryAfter: seconds ?? 1)
        case .cancelled: throw OAuthManager.waitGivenUp
        case .timedOut, .full:
            throw OAuthManager.unavailable("the token request takes too long", retryAfter: 1)
        }
    }

    /// Lets a renewal that presents a refresh token come to its end: with the process its answer would
    /// be lost, and the token that the server has put in place of the one presented.
    ///
    /// Returns when it is stored, or at the deadline. Waits for nothing that can be asked for again.
    /// What could not be written before is tried once more.
    ///
    /// - Parameter deadline: when not to wait any longer.
    /// - Returns: whether nothing is lost with the process; false if a refresh token is nowhere but
    ///   here, so that somebody has to sign in again.
    @discardableResult
    public func finishRenewal(until deadline: ContinuousClock.Instant) async -> Bool {
        guard case .refreshToken = configuration.grant else { return true }
        while let renewal, clock.now < deadline, !Task.isCancelled {
            _ = await renewal.room.wait(until: deadline, as: .command)
        }
        await writeAgain()
        return renewal == nil && !ledger.isOnlyHolder
    }

    /// Returns when no renewal is going on.
    func waitForRenewal() async throws {
        while let renewal {
            _ = await renewal.room.wait(
                until: clock.now + Renewal.limit(configuration),
                as: .command
            )
            if Task.isCancelled { throw OAuthManager.waitGivenUp }
        }
    }

    static var waitGivenUp: NetworkError {
        NetworkError(
            .cancelled,
            side: .downstream,
            retry: .safe,
            detail: "the wait was given up"
        )
    }

    /// What the manager is doing.
    public func status() -> OAuthStatus {
        let now = clock.moment
        var status = OAuthStatus(state: state(at: now), generation: generation)
        status.age = current.map { now.steady - $0.token.issuedAt.steady }
        status.expiresIn = current?.token.expiresAt.map { max($0.remaining(at: now), .zero) }
        status.scope = current?.token.scope
        status.hasRefreshToken = (ledger.record?.refreshToken ?? current?.token.refreshToken) != nil
        status.refreshExpiresIn = ledger.record?.refreshExpiresAt.map { max($0 - now.wall, .zero) }
        status.isUnsaved = ledger.isUnsaved
        status.waiters = renewal?.room.count ?? trouble.outage?.room.count ?? 0
        status.lastFailure = trouble.lastFailure
        status.nextAttempt = trouble.outage.map { max($0.until - now.steady, .zero) }
        status.clockOffset = service.clockOffset == .zero ? nil : service.clockOffset
        return status
    }

    private func state(at now: Moment) -> OAuthStatus.State {
        if renewal != nil { return .refreshing }
        let living = current.flatMap { isAlive($0, at: now) ? $0 : nil }
        if trouble.death != nil, living == nil { return .dead }
        if trouble.outage.map({ $0.until > now.steady }) ?? false, living == nil { return .failed }
        guard let living else { return current == nil ? .empty : .expired }
        if living.windows?.due.isReached(at: now) ?? false { return .expired }
        return living.windows?.stale.isReached(at: now) ?? false ? .stale : .fresh
    }
}
