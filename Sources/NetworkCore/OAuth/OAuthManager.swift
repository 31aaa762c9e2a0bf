/// The tokens of one channel: gets them, renews them in time, and judges rejections.
///
/// One refresh at a time, owned by the manager: a caller that goes away cancels only its own wait.
/// A token is stored durably before anybody uses it.
public actor OAuthManager: Authorizing {
    /// The word in the log.
    public nonisolated let kind = "oauth"

    private let service: any TokenRetrieving
    private let store: any TokenStoring
    private let configuration: OAuthConfiguration
    private let clock: any NetworkClock
    private let onEvent: @Sendable (OAuthEvent) -> Void
    private nonisolated let cell = CredentialCell()

    private var refresh: Refresh?
    private var lastRefreshID = 0
    private var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    private var lastWaiterID = 0
    private var circuit = RefreshCircuit()
    private var deadBecause: String?
    private var cooling: (generation: Int, until: ContinuousClock.Instant)?
    private var nextEarly: ContinuousClock.Instant?
    private var unsaved: StoredGrant?
    private var nextLookAtDead: ContinuousClock.Instant?

    private struct Refresh {
        let id: Int
        let reason: OAuthEvent.Reason
    }

    /// Makes a manager; it asks for nothing before somebody needs a token.
    ///
    /// - Parameters:
    ///   - service: gets tokens.
    ///   - tokenStore: keeps them.
    ///   - configuration: windows and limits.
    ///   - clock: tells the time.
    ///   - onEvent: called for every change; must be quick.
    public init(
        service: any TokenRetrieving,
        tokenStore: any TokenStoring,
        configuration: OAuthConfiguration,
        clock: any NetworkClock = SystemClock(),
        onEvent: @escaping @Sendable (OAuthEvent) -> Void = { _ in }
    ) {
        self.service = service
        store = tokenStore
        self.configuration = configuration
        self.clock = clock
        self.onEvent = onEvent
    }

    // MARK: - Authorizing

    /// The token in force, without a hop while it is fresh.
    ///
    /// - Throws: `credential_unavailable`, `reauthorization_required`, or `CancellationError`.
    public nonisolated func credential() async throws -> Credential {
        if let snapshot = cell.current, !snapshot.isRejected, clock.now < snapshot.advisory,
            snapshot.wallExpiry.map({ clock.wallNow < $0 }) ?? true
        {
            return snapshot.credential
        }
        return try await obtain()
    }

    /// RFC 6750 §3.1 and the generation rule: a 401 on an older token is answered by the newer one
    /// at once; one on the present token by one refresh, whoever else is waiting for it.
    public func rejected(
        generation: Int?,
        challenges: [Challenge]
    ) async -> RejectionVerdict {
        if let reason = RejectionTriage.reasonToPass(challenges) { return .passThrough(reason) }
        guard let generation, let current = cell.current?.credential.generation else {
            return .passThrough("no_token")
        }
        if generation < current { return .replay }
        if let cooling, cooling.generation >= generation, clock.now < cooling.until {
            return .passThrough("renewed_a_moment_ago")
        }
        if refresh == nil, circuit.blocked(at: clock.now) != nil {
            // The token stays in force: one endpoint that always says 401 must not end the channel.
            return .passThrough("refresh_blocked")
        }
        let rejected = cell.current?.credential.value
        cell.reject(generation: generation)
        do {
            try await waitForRefresh(.unauthorized)
        } catch {
            return .passThrough("refresh_failed")
        }
        guard let next = cell.current, next.credential.generation.map({ $0 > generation }) == true
        else { return .passThrough("refresh_failed") }
        if next.credential.value == rejected {
            cool(next.credential.generation)
            return .passThrough("no_progress")
        }
        return .replay
    }

    /// A brand-new token was rejected: the fault is not its age.
    public func replayRejected(generation: Int?) async {
        cool(generation)
    }

    private func cool(_ generation: Int?) {
        guard let generation else { return }
        cooling = (generation, clock.now + .seconds(5))
    }

    // MARK: - For people

    /// The state of the token.
    public func status() async -> OAuthStatus {
        let now = clock.now
        var status = OAuthStatus(state: "empty")
        if let snapshot = cell.current {
            status.state =
                snapshot.isRejected || now >= snapshot.expiry
                ? "expired" : now >= snapshot.advisory ? "stale" : "fresh"
            status.generation = snapshot.credential.generation
            status.age = snapshot.credential.issuedAt.map { $0.duration(to: now) }
            if snapshot.wallExpiry != nil { status.expiresIn = now.duration(to: snapshot.expiry) }
        }
        if let failure = circuit.failure {
            status.lastError = failure.description
            if let until = circuit.openUntil, until > now {
                status.nextAttempt = now.duration(to: until)
                status.state = "failed"
            }
        }
        if refresh != nil { status.state = "refreshing" }
        if let deadBecause {
            status.state = "dead"
            status.lastError = deadBecause
        }
        return status
    }

    /// Gets a new token now, whatever the present one is good for.
    ///
    /// - Throws: as `credential()`.
    public func forceRefresh() async throws {
        while let refresh, refresh.reason != .forced {
            // Not answered from one that was begun for another reason.
            do { try await waitForRefresh(.forced) } catch is NetworkError {}
        }
        circuit.reset()
        nextLookAtDead = clock.now
        try await waitForRefresh(.forced)
    }

    /// Forgets all tokens, also in the store.
    ///
    /// - Throws: `TokenStoreError`.
    public func forget() async throws {
        let lock = try await store.lock()
        defer { lock.release() }
        try await lock.remove()
        unsaved = nil
        cell.set(nil)
        deadBecause = nil
        circuit.reset()
    }

    // MARK: - Waiting

    private func obtain() async throws -> Credential {
        let now = clock.now
        if let snapshot = cell.current, !snapshot.isRejected, isAlive(snapshot, now) {
            if now < snapshot.mandatory {
                // The token may have been renewed while this caller was on its way here.
                if now >= snapshot.advisory { refreshEarly(now) }
                return snapshot.credential
            }
            // In the mandatory window a failure stays invisible while the token lives.
            do {
                try await waitForRefresh(.expired)
            } catch let error as NetworkError {
                guard error.kind != .cancelled, isAlive(snapshot, clock.now) else { throw error }
                return snapshot.credential
            }
        } else {
            try await waitForRefresh(cell.current == nil ? .initial : .expired)
        }
        guard let snapshot = cell.current, !snapshot.isRejected, isAlive(snapshot, clock.now) else {
            throw unavailable(circuit.failure, wait: .seconds(1))
        }
        return snapshot.credential
    }

    private func isAlive(_ snapshot: CredentialCell.Snapshot, _ now: ContinuousClock.Instant)
        -> Bool
    {
        now < snapshot.expiry && (snapshot.wallExpiry.map { clock.wallNow < $0 } ?? true)
    }

    /// One background refresh in the advisory window; at most one attempt a minute.
    private func refreshEarly(_ now: ContinuousClock.Instant) {
        guard refresh == nil, deadBecause == nil, circuit.blocked(at: now) == nil,
            nextEarly.map({ now >= $0 }) ?? true
        else { return }
        nextEarly = now + .seconds(60)
        start(.early)
    }

    /// Joins the refresh that is on its way, or starts one.
    private func waitForRefresh(_ reason: OAuthEvent.Reason) async throws {
        if refresh == nil {
            // Now and then the store is looked at: somebody may have signed in elsewhere.
            if let deadBecause, clock.now < nextLookAtDead ?? clock.now {
                throw reauthorization(deadBecause)
            }
            if let (failure, wait) = circuit.blocked(at: clock.now) {
                throw unavailable(failure, wait: wait)
            }
            start(reason)
        }
        guard waiters.count < configuration.waiterLimit else {
            throw NetworkError(
                .credentialUnavailable,
                side: .proxy,
                detail: "too many requests wait for a token",
                retryAfter: 1
            )
        }
        lastWaiterID += 1
        let id = lastWaiterID
        let joined = lastRefreshID
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled || refresh?.id != joined {
                    continuation.resume()
                } else {
                    waiters[id] = continuation
                }
            }
        } onCancel: {
            // The refresh goes on: only this wait ends.
            Task { await self.detach(id) }
        }
        try Task.checkCancellation()
        if let deadBecause { throw reauthorization(deadBecause) }
        if let failure = circuit.failure { throw unavailable(failure, wait: .seconds(1)) }
    }

    private func detach(_ id: Int) {
        waiters.removeValue(forKey: id)?.resume()
    }

    // MARK: - The refresh

    private func start(_ reason: OAuthEvent.Reason) {
        lastRefreshID += 1
        let id = lastRefreshID
        refresh = Refresh(id: id, reason: reason)
        // A task of the manager's own: no caller's end may discard a token that the server issued.
        Task {
            await self.run(reason)
            self.ended(id)
        }
    }

    private func ended(_ id: Int) {
        guard refresh?.id == id else { return }
        refresh = nil
        let released = waiters
        waiters = [:]
        for waiter in released.values { waiter.resume() }
    }

    private func run(_ reason: OAuthEvent.Reason) async {
        let started = clock.now
        let lock: (any TokenStoreLock)?
        do {
            lock = try await store.lock()
        } catch {
            onEvent(.storeFailed("\(error)"))
            // Without the lock a refresh token might be presented twice; client credentials may.
            guard case .clientCredentials = configuration.grant else {
                return fail(TokenEndpointError(.transient, "\(error)"))
            }
            lock = nil
        }
        defer { lock?.release() }
        do {
            var grant = await newest(lock)
            seed(&grant)
            if adopt(grant, reason) { return }
            let (response, sentAt) = try await request(&grant, reason, lock)
            grant.generation = max(grant.generation, cell.current?.credential.generation ?? 0) + 1
            take(response, into: &grant, sentAt: sentAt)
            // Durable first: a rotated refresh token must survive whatever comes next.
            await keep(grant, lock)
            publish(grant, issuedAt: sentAt)
            circuit.succeeded(at: clock.now)
            nextEarly = nil
            deadBecause = nil
            onEvent(
                .refreshed(
                    generation: grant.generation,
                    reason: reason,
                    duration: started.duration(to: clock.now)
                )
            )
        } catch {
            if error.isDead { await die(error, lock) } else { fail(error) }
        }
    }

    /// What the store holds, or what this process knows better: a rotated grant that could not be
    /// written is the only one whose refresh token is still good.
    private func newest(_ lock: (any TokenStoreLock)?) async -> StoredGrant {
        var stored: StoredGrant?
        do {
            stored = try await lock?.read()
        } catch {
            onEvent(.storeFailed("\(error)"))
        }
        guard let unsaved, unsaved.generation >= stored?.generation ?? -1 else {
            return stored ?? StoredGrant()
        }
        return unsaved
    }

    /// Writes a grant; what cannot be written stays known until it can.
    private func keep(_ grant: StoredGrant, _ lock: (any TokenStoreLock)?) async {
        guard let lock else {
            unsaved = grant
            return
        }
        do {
            try await lock.write(grant)
            unsaved = nil
        } catch {
            unsaved = grant
            onEvent(.storeFailed("\(error)"))
        }
    }

    /// Starts the family anew where the configuration has another refresh token than it began with.
    private func seed(_ grant: inout StoredGrant) {
        guard case .refreshToken(let initial?) = configuration.grant else { return }
        let mark = Fingerprint.of(initial.reveal())
        guard grant.seed != mark else { return }
        grant.seed = mark
        grant.refreshToken = initial.reveal()
        grant.accessToken = nil
        grant.deadBecause = nil
        grant.intentAt = nil
    }

    /// Takes over what another process, or this one before a restart, has stored.
    private func adopt(_ grant: StoredGrant, _ reason: OAuthEvent.Reason) -> Bool {
        guard reason != .forced, grant.accessToken != nil else { return false }
        let present = cell.current
        if let known = present?.credential.generation, grant.generation <= known { return false }
        let now = clock.wallNow
        let lifetime = grant.expiresAt.map { $0 - grant.issuedAt } ?? 0
        if let expiry = grant.expiresAt, expiry - now < min(30, lifetime * 0.05) { return false }
        guard now >= grant.issuedAt - 60 else { return false }
        publish(grant, issuedAt: clock.now - .seconds(max(now - grant.issuedAt, 0)))
        circuit.reset()
        deadBecause = nil
        onEvent(.adopted(generation: grant.generation))
        return true
    }

    private func request(
        _ grant: inout StoredGrant,
        _ reason: OAuthEvent.Reason,
        _ lock: (any TokenStoreLock)?
    ) async throws(TokenEndpointError) -> (TokenResponse, sentAt: ContinuousClock.Instant) {
        guard case .refreshToken = configuration.grant else {
            let sentAt = clock.now
            return (try await service.token(), sentAt)
        }
        if let words = grant.deadBecause, reason != .forced {
            throw TokenEndpointError(.dead, words)
        }
        guard let token = grant.refreshToken else {
            throw TokenEndpointError(.dead, "there is no refresh token; sign in first")
        }
        let wasInterrupted = grant.intentAt != nil
        grant.intentAt = clock.wallNow
        await keep(grant, lock)
        let sentAt = clock.now
        do throws(TokenEndpointError) {
            return (try await refreshed(with: Secret(token)), sentAt)
        } catch {
            if error.isDead, wasInterrupted {
                throw TokenEndpointError(
                    .dead,
                    "\(error.description) (an earlier answer was probably lost)"
                )
            }
            if !error.isAmbiguous {
                grant.intentAt = nil
                await keep(grant, lock)
            }
            throw error
        }
    }

    /// An answer may be lost after the server rotated the token: the same token is presented once
    /// more at once, which servers with a grace period answer again.
    private func refreshed(with token: Secret) async throws(TokenEndpointError) -> TokenResponse {
        do throws(TokenEndpointError) {
            return try await service.token(refreshing: token)
        } catch {
            guard error.isAmbiguous else { throw error }
            return try await service.token(refreshing: token)
        }
    }

    private func take(
        _ response: TokenResponse,
        into grant: inout StoredGrant,
        sentAt: ContinuousClock.Instant
    ) {
        let elapsed = sentAt.duration(to: clock.now).seconds
        grant.issuedAt = clock.wallNow - elapsed
        grant.accessToken = response.accessToken.reveal()
        // A year is longer than any access token should live; one that is over already is good for
        // those who wait for it.
        grant.expiresAt = response.expiresIn.map { grant.issuedAt + min(max($0, 1), 31_536_000) }
        // RFC 6749 §6: none in the answer means that the old one stays.
        if let next = response.refreshToken, case .refreshToken = configuration.grant {
            grant.refreshToken = next.reveal()
        }
        grant.scope = response.scope
        grant.intentAt = nil
        grant.deadBecause = nil
    }

    private func publish(_ grant: StoredGrant, issuedAt: ContinuousClock.Instant) {
        guard let token = grant.accessToken else { return }
        let credential = Credential(
            value: Secret("Bearer \(token)"),
            generation: grant.generation,
            issuedAt: issuedAt
        )
        guard let expiresAt = grant.expiresAt else {
            // Unknown lifetime: used until an origin rejects it.
            let never = issuedAt + .seconds(31_536_000)
            cell.set(
                CredentialCell.Snapshot(
                    credential: credential,
                    advisory: never,
                    mandatory: never,
                    expiry: never,
                    wallExpiry: nil
                )
            )
            return
        }
        let lifetime = Duration.seconds(max(expiresAt - grant.issuedAt, 0))
        let expiry = issuedAt + lifetime
        let early = min(configuration.refreshBefore, lifetime * 0.2)
        let mandatory = min(.seconds(30), lifetime * 0.05, early * 0.5)
        // Jitter on the advisory point only, so that many processes do not ask at once.
        let jitter = early * Double.random(in: 0...0.1)
        cell.set(
            CredentialCell.Snapshot(
                credential: credential,
                advisory: expiry - early + jitter,
                mandatory: expiry - mandatory,
                expiry: expiry,
                wallExpiry: expiresAt
            )
        )
    }

    // MARK: - Failures

    private func fail(_ error: TokenEndpointError) {
        let wait = circuit.failed(error, at: clock.now)
        onEvent(.failed(error.description, nextAttempt: wait))
    }

    /// Set aside, not erased: the reason stays until somebody signs in again.
    private func die(_ error: TokenEndpointError, _ lock: (any TokenStoreLock)?) async {
        let isNews = deadBecause == nil
        deadBecause = error.description
        nextLookAtDead = clock.now + .seconds(5)
        guard isNews else { return }
        var grant = await newest(lock)
        seed(&grant)
        grant.deadBecause = error.description
        grant.intentAt = nil
        await keep(grant, lock)
        onEvent(.dead(error.description))
    }

    private func unavailable(_ failure: TokenEndpointError?, wait: Duration) -> NetworkError {
        NetworkError(
            .credentialUnavailable,
            side: .upstream,
            detail: failure.map { "no usable token: \($0.description)" }
                ?? "tokens were renewed too often in the last 30 s; the upstream rejects new ones",
            retryAfter: max(1, Int(wait.seconds.rounded(.up)))
        )
    }

    private func reauthorization(_ reason: String) -> NetworkError {
        NetworkError(
            .reauthorizationRequired,
            side: .upstream,
            detail: "the refresh token is no longer accepted (\(reason)); sign in again"
        )
    }
}

extension TokenEndpointError {
    var isDead: Bool {
        if case .dead = severity { true } else { false }
    }
}

extension Duration {
    /// In seconds.
    package var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
