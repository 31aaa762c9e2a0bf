import NetworkCore

/// Commands of a program or a user.
extension OAuthManager {
    /// Reads the store before the first request does.
    ///
    /// Adopts a token that is still good, and resolves a renewal that had no known outcome when the
    /// process stopped.
    ///
    /// Makes no other token request. Returns when that is done.
    public func start() async {
        followChanges()
        guard engine.current == nil, queues.renewal == nil else { return }
        let limit = clock.now + configuration.renewalTimeout
        _ = await renew(.recovery).wait(until: limit, as: .command)
    }

    /// Reads the store again, for instance after a sign-in there.
    ///
    /// Makes no token request, except to resolve one without a known outcome. Returns when the stored
    /// token is in force.
    ///
    /// - Throws: `NetworkError` of kind `.credentialUnavailable`, for example if the store cannot be
    ///   read, `.reauthorizationRequired` or `.cancelled`.
    public func lookIntoStore() async throws {
        try await renewNow(.recovery)
    }

    /// Requests a new token now, even if the current one is good.
    ///
    /// Waits for a renewal in progress and then makes its own; neither the back-off nor the excess guard
    /// delays it.
    ///
    /// - Throws: `NetworkError` of kind `.credentialUnavailable`, `.reauthorizationRequired` or
    ///   `.cancelled`.
    public func forceRefresh() async throws {
        try await renewNow(.forced)
    }

    private func renewNow(_ reason: OAuthEvent.Reason) async throws {
        try await waitForRenewal()
        let waiters = renew(reason)
        let limit = clock.now + configuration.renewalTimeout
        try await waiters.wait(until: limit, as: .command).check(at: clock.wallNow)
    }

    /// Presents a grant that a user has just obtained, such as an authorization code, and starts a new
    /// grant family with the tokens it brings.
    ///
    /// It is presented once and never repeated (RFC 6749 §4.1.2). If it fails, the earlier tokens stay
    /// in force.
    ///
    /// - Parameter grant: the grant.
    /// - Throws: `NetworkError` of kind `.credentialUnavailable` with the server's own words, or
    ///   `.cancelled`; the grant is spent in any case.
    public func signIn(with grant: TokenGrant) async throws {
        try await waitForRenewal()
        let waiters = renew(.signIn, presenting: grant)
        let limit = clock.now + configuration.renewalTimeout
        switch await waiters.wait(until: limit, as: .command) {
        case .outcome(.failed(let failure)), .outcome(.dead(let failure)):
            throw NetworkError.noCredential(failure.detail, retryAfter: 1)
        case let exit: try exit.check(at: clock.wallNow)
        }
    }

    /// Waits for a renewal that presents a refresh token: if the process ended earlier, the response
    /// would be lost, and with it the new refresh token.
    ///
    /// Returns when it is stored, or at the deadline. Does not wait for tokens that can be requested
    /// again. Tries once more to write an unsaved record.
    ///
    /// - Parameter deadline: the end of the wait.
    /// - Returns: whether nothing is lost with the process; `false` if a refresh token exists only
    ///   here, so that a new sign-in will be needed.
    @discardableResult
    public func finishRenewal(until deadline: ContinuousClock.Instant) async -> Bool {
        guard case .refreshToken = configuration.grant else { return true }
        while let renewal = queues.renewal, clock.now < deadline, !Task.isCancelled {
            _ = await renewal.waiters.wait(until: deadline, as: .command)
        }
        await writeAgain()
        return queues.renewal == nil && !engine.isOnlyHolder
    }

    /// Returns when no renewal is in progress.
    func waitForRenewal() async throws {
        while let renewal = queues.renewal {
            let limit = clock.now + configuration.renewalTimeout
            _ = await renewal.waiters.wait(until: limit, as: .command)
            if Task.isCancelled { throw NetworkError.commandCancelled }
        }
    }

    /// Forgets the tokens here and in the store.
    ///
    /// The next request starts over: with the client's credentials, or with the refresh token of the
    /// configuration, if there is one. Requests that come before the end wait for it.
    ///
    /// - Throws: `NetworkError` of kind `.cancelled`; `TokenStoreError` if the store keeps them. Here
    ///   they are forgotten nevertheless, until the process ends or others are stored.
    public func forget() async throws {
        try await waitForRenewal()
        let removal = Task { try await access.forget(for: self) }
        // Blocks renewals, so that none adopts the record that is still stored.
        let running = run(decide { engine, _ in engine.begin(.forced) }) { _ in
            _ = await removal.result
            return .startOver
        }
        await running.task.value
        try await removal.value
    }

    /// The state of the tokens, without secrets.
    public func status() -> OAuthStatus {
        var status = OAuthStatus(engine, at: clock.moment)
        status.storeFault = storeFault
        status.waiters = queues.renewal?.waiters.count ?? queues.pauseWaiters?.count ?? 0
        status.clockOffset = service.clockOffset == .zero ? nil : service.clockOffset
        return status
    }

    // MARK: - Replacing a manager

    /// Replaces a manager of the same tokens; called before any request uses this one.
    ///
    /// A record that the other could not write is taken over when the store is next read: it exists nowhere
    /// else, and presenting the older, stored refresh token could revoke the family.
    package func takeOver(from other: OAuthManager) {
        predecessor = other
    }

    /// Whether both are for the tokens of one client at one server.
    package nonisolated func hasTokens(of other: OAuthManager) -> Bool {
        configuration.authority == other.configuration.authority
    }

    /// Whether nothing would be lost with the manager: no renewal is in progress, and all is written.
    package var isSaved: Bool { queues.renewal == nil && !isUnsaved }
}
