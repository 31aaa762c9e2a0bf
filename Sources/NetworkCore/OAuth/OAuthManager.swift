/// Owns the tokens of one credential: gets them, renews them before anybody notices, and knows what
/// a 401 means.
///
/// However many requests ask at once, one token request is made, and what comes of it reaches all of
/// them. A renewal belongs to the manager, not to the request that set it off: a caller that goes
/// away gives up its own wait and nothing else. Managers that share a token store, in this process
/// or in others, renew one after the other under the store's lock; they share an access token only
/// if scopes, audience, resources and parameters are equal.
///
/// An actor on the default executor. `currentCredential()` neither hops to it nor allocates.
public actor OAuthManager: Authorizing {
    /// `oauth`.
    public nonisolated var kind: String { "oauth" }
    /// `Authorization` (RFC 6750 §2.1).
    public nonisolated var fieldName: HTTPFieldName { .authorization }
    /// The clocks that lifetimes are measured by.
    public nonisolated let clock: any NetworkClock

    nonisolated let service: any OAuthService
    nonisolated let store: any TokenStoring
    nonisolated let configuration: OAuthConfiguration
    nonisolated let onEvent: @Sendable (OAuthEvent) -> Void
    nonisolated let jitter: @Sendable () -> Double
    nonisolated let snapshot = CredentialSnapshot()

    /// The last token, also one that has ended.
    var current: CurrentToken?
    /// Counts the tokens of this manager.
    var generation = 0
    /// The renewal that is going on.
    var renewal: Renewal?
    /// Until when the token endpoint is left alone, and why.
    var outage: Outage?
    /// How many attempts failed in a row.
    var failuresInRow = 0
    /// Why only a person can help.
    var death: Death?
    /// When token requests were sent, within the window of the excess guard.
    var requestTimes: [ContinuousClock.Instant] = []
    /// What went wrong last, until a token comes.
    var lastFailure: OAuthFailure?
    /// What is stored, or should be.
    var record: TokenRecord?
    /// The revision that the store held when it was looked at last.
    var storedRevision = 0
    /// Whether `record` could not be written.
    var isUnsaved = false
    /// Tries again to write `record`.
    var rewrite: Task<Void, Never>?
    private var nextRenewalID = 0

    /// Makes a manager; nothing is sent or read until somebody asks, or `start()` is called.
    ///
    /// - Parameters:
    ///   - service: talks to the authorization server, such as a `TokenEndpointClient`.
    ///   - tokenStore: keeps the tokens of the grant family.
    ///   - configuration: what to ask for.
    ///   - clock: the machine's, except in tests.
    ///   - onEvent: told of everything that happens; called on the manager, so it must not block.
    public init(
        service: any OAuthService,
        tokenStore: any TokenStoring,
        configuration: OAuthConfiguration,
        clock: any NetworkClock = SystemClock(),
        onEvent: @escaping @Sendable (OAuthEvent) -> Void = { _ in }
    ) {
        self.init(
            service: service,
            tokenStore: tokenStore,
            configuration: configuration,
            clock: clock,
            jitter: { .random(in: 0..<1) },
            onEvent: onEvent
        )
    }

    /// As above, with a source of numbers from 0 to 1 in place of chance.
    package init(
        service: any OAuthService,
        tokenStore: any TokenStoring,
        configuration: OAuthConfiguration,
        clock: any NetworkClock,
        jitter: @escaping @Sendable () -> Double,
        onEvent: @escaping @Sendable (OAuthEvent) -> Void = { _ in }
    ) {
        self.service = service
        store = tokenStore
        self.configuration = configuration
        self.clock = clock
        self.jitter = jitter
        self.onEvent = onEvent
    }

    /// Whether a token can be had without a person signing in, as far as is known now.
    public nonisolated var isSignedIn: Bool { snapshot.isSignedIn }

    /// The token at hand, if it is good now.
    ///
    /// When it is in its last part, this sets off a renewal that nobody waits for.
    public nonisolated func currentCredential() -> Credential? {
        currentCredential(at: clock.moment)
    }

    /// The token at hand, if it is good at a moment the caller has read from the clock already.
    public nonisolated func currentCredential(at now: Moment) -> Credential? {
        switch snapshot.read(at: now) {
        case .fresh(let credential): return credential
        case .stale(let credential):
            // The engine's own: the request that noticed does not wait for it.
            Task { await renewEarly() }
            return credential
        case .none: return nil
        }
    }

    /// The token at hand, or a new one.
    ///
    /// - Throws: `NetworkError` of kind `.credentialUnavailable` (with `retryAfter`),
    ///   `.reauthorizationRequired` or `.cancelled`.
    public nonisolated func credential(
        until deadline: ContinuousClock.Instant?
    ) async throws -> Credential {
        let limit = waitLimit(deadline)
        while true {
            switch await admit() {
            case .credential(let credential): return credential
            case .refused(let error): throw error
            case .wait(let room):
                switch await room.wait(until: limit) {
                case .outcome(.credential(let credential)): return credential
                case .outcome(.idle): continue
                case .outcome(.failed), .outcome(.dead), .outcome(.sameToken), .timedOut:
                    return try await settle()
                case .full:
                    throw OAuthManager.unavailable(
                        "too many requests wait for a token already",
                        retryAfter: 1
                    )
                case .cancelled:
                    throw NetworkError(
                        .cancelled,
                        side: .downstream,
                        retry: .safe,
                        detail: "the request was given up while it waited for a token"
                    )
                }
            }
        }
    }

    nonisolated func waitLimit(_ deadline: ContinuousClock.Instant?) -> ContinuousClock.Instant {
        let limit = clock.now + configuration.waitTimeout
        return deadline.map { min($0, limit) } ?? limit
    }

    // MARK: - Decisions

    /// What a caller without a usable token does next.
    enum Admission {
        case credential(Credential)
        case wait(WaitingRoom)
        case refused(NetworkError)
    }

    func admit() -> Admission {
        let now = clock.moment
        if let current, isUsable(current, at: now) { return .credential(current.credential) }
        if let renewal { return .wait(renewal.room) }
        if let refusal = standingRefusal(at: now) {
            // Invisible while the token lives, even in its very last part.
            if let current, isAlive(current, at: now) { return .credential(current.credential) }
            return .refused(refusal)
        }
        let reason: OAuthEvent.Reason =
            switch current?.doubt {
            case nil: .initial
            case .some(.none): .expired
            default: .unauthorized
            }
        return .wait(renew(reason).room)
    }

    /// What a caller gets whose wait brought no token.
    private func settle() throws -> Credential {
        let now = clock.moment
        if let current, isAlive(current, at: now) { return current.credential }
        throw standingRefusal(at: now)
            ?? OAuthManager.unavailable(
                "no token came within the time the request may wait",
                retryAfter: 1
            )
    }

    /// Why the token endpoint is not to be asked now.
    func standingRefusal(at now: Moment) -> NetworkError? {
        if let death, now.steady < death.checkAgainAt {
            return NetworkError(
                .reauthorizationRequired,
                side: .proxy,
                detail: death.failure.detail
            )
        }
        if let outage, now.steady < outage.until {
            return OAuthManager.unavailable(
                outage.failure.detail,
                retryAfter: max(1, (outage.until - now.steady).wholeSeconds)
            )
        }
        return nil
    }

    /// Whether a token may be given out without waiting for its successor.
    func isUsable(_ token: CurrentToken, at now: Moment) -> Bool {
        guard !token.token.isForOneUse, token.windows?.due.isReached(at: now) != true else {
            return false
        }
        switch token.doubt {
        case .none: return true
        case .suspected: return renewal == nil && isAlive(token, at: now)
        case .refused: return false
        }
    }

    /// Whether a token may be given out at all: never behind its end, never when it is known bad,
    /// nor when it may be bad and no other can be had.
    func isAlive(_ token: CurrentToken, at now: Moment) -> Bool {
        guard !token.token.isForOneUse, token.token.expiresAt?.isReached(at: now) != true else {
            return false
        }
        return token.doubt == .none || (token.doubt == .suspected && death == nil)
    }

    // MARK: - Renewals

    private func renewEarly() {
        let now = clock.moment
        guard renewal == nil, standingRefusal(at: now) == nil, death == nil,
            let current, current.doubt == .none
        else { return publish() }
        _ = renew(.early)
    }

    /// Starts a renewal; there must be none.
    func renew(_ reason: OAuthEvent.Reason) -> Renewal {
        nextRenewalID += 1
        let id = nextRenewalID
        let room = WaitingRoom(clock: clock, limit: configuration.waiterLimit)
        // Single flight: the manager owns this task, so no caller's cancellation reaches it, and a
        // token pair the server has already rotated is never dropped with a request.
        let task = Task { await perform(reason, id: id, room: room) }
        let limit = clock.now + Renewal.limit(configuration)
        // For a transport that neither answers nor keeps its deadline: the slot must become free.
        let watchdog = Task { [clock] in
            do { try await clock.sleep(until: limit) } catch { return }
            abandon(id)
        }
        let renewal = Renewal(id: id, reason: reason, room: room, task: task, watchdog: watchdog)
        self.renewal = renewal
        publish()
        return renewal
    }

    private func perform(_ reason: OAuthEvent.Reason, id: Int, room: WaitingRoom) async {
        let outcome = await outcome(of: reason)
        if renewal?.id == id {
            renewal?.watchdog.cancel()
            renewal = nil
        }
        publish()
        room.finish(outcome)
    }

    private func abandon(_ id: Int) {
        guard let late = renewal, late.id == id else { return }
        late.task.cancel()
        renewal = nil
        let outcome = fail(TokenFailure(.lost, detail: "the token request did not end in time"))
        publish()
        late.room.finish(outcome)
    }

    /// Lets readers see the state as it is now.
    func publish() {
        var content = CredentialSnapshot.Content()
        content.isSignedIn = death == nil
        let now = clock.moment
        if let current, isUsable(current, at: now) {
            content.credential = current.credential
            content.dueAt = current.windows?.due
            content.staleAt = current.windows?.stale
            // The running renewal comes first.
            if renewal != nil || death != nil { content.staleAt = nil }
        }
        if let outage, outage.until > now.steady, let current, isAlive(current, at: now) {
            // Nobody is asked before the back-off ends, so readers need not ask the manager either.
            let end = now + (outage.until - now.steady)
            if content.credential == nil {
                content.credential = current.credential
                content.dueAt = current.token.expiresAt.map { $0.steady < end.steady ? $0 : end }
                content.dueAt = content.dueAt ?? end
            } else if content.staleAt.map({ $0.steady < end.steady }) ?? false {
                content.staleAt = end
            }
        }
        snapshot.publish(content)
    }

    static func unavailable(_ detail: String, retryAfter: Int) -> NetworkError {
        // Not "safe" to retry: the engine backs off for everybody, and a retry would only add to it.
        NetworkError(
            .credentialUnavailable,
            side: .upstream,
            detail: detail,
            retryAfter: retryAfter
        )
    }
}
