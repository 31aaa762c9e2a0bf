public import NetworkCore

/// Owns the tokens of one credential: gets them, renews them before they expire, and knows what a 401
/// means.
///
/// However many requests ask at once, one token request is made, and all of them get its result. A
/// renewal belongs to the manager, not to the request that caused it: a request that is cancelled gives
/// up its own wait and nothing else. Managers that share a token store, in this process or in others,
/// renew one after the other under the store's lock; they share an access token only if scopes, audience,
/// resources and parameters are equal.
///
/// Every decision is made by `TokenEngine`, a value; the manager performs the actions. An actor on the
/// default executor. `currentCredential()` neither hops to it nor allocates.
public actor OAuthManager: Authorizing {
    /// `oauth`.
    public nonisolated var kind: String { "oauth" }
    /// `Authorization` (RFC 6750 §2.1).
    public nonisolated var fieldName: HTTPFieldName { .authorization }
    /// Itself: no wait goes on past its deadline.
    public nonisolated func timed() -> any Authorizing { self }
    /// The clocks that lifetimes are measured by.
    public nonisolated let clock: any NetworkClock

    nonisolated let service: any OAuthService
    nonisolated let configuration: OAuthConfiguration
    nonisolated let onEvent: @Sendable (OAuthEvent) -> Void
    /// A random number from 0 to 1.
    nonisolated let jitter: @Sendable () -> Double
    nonisolated let access: TokenStoreAccess
    nonisolated let snapshot: CredentialSnapshot

    /// The state; changed by `decide` and `handle` alone.
    var engine: TokenEngine
    /// The task of the renewal in progress.
    var renewal: RunningRenewal?
    /// The requests that wait for the trial of a token.
    var trial: RunningTrial?
    /// The requests that wait for the end of the back-off.
    var pauseWaiters: RenewalWaiters?
    /// Tries again to write what could not be written.
    var rewriting: Task<Void, Never>?
    /// What was last reported of the store, until something could be written.
    var reportedFault: String?
    /// Passes on what other processes store.
    private var following: Task<Void, Never>?
    /// The manager that this one replaces, until this one has what that one could not write.
    var predecessor: OAuthManager?

    /// Makes a manager; nothing is sent or read until a request needs a token, or `start()` is called.
    ///
    /// - Parameters:
    ///   - service: talks to the authorization server, such as a `TokenEndpointClient`.
    ///   - tokenStore: keeps the tokens of the grant family.
    ///   - configuration: what to ask for.
    ///   - clock: the machine's, except in tests.
    ///   - onEvent: receives everything that happens; called on the manager, so it must not block.
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

    /// As above, with a source of numbers from 0 to 1 in place of random ones.
    package init(
        service: any OAuthService,
        tokenStore: any TokenStoring,
        configuration: OAuthConfiguration,
        clock: any NetworkClock,
        jitter: @escaping @Sendable () -> Double,
        onEvent: @escaping @Sendable (OAuthEvent) -> Void = { _ in }
    ) {
        self.service = service
        self.configuration = configuration
        self.clock = clock
        self.jitter = jitter
        self.onEvent = onEvent
        access = TokenStoreAccess(
            store: tokenStore.mayBlock ? OffLoopStore(tokenStore) : tokenStore,
            configuration: configuration,
            clock: clock
        )
        snapshot = CredentialSnapshot(isSignedIn: configuration.grant.isSelfSufficient)
        engine = TokenEngine(configuration)
    }

    /// Makes the engine of credentials that no token endpoint issues, and that need no store.
    ///
    /// - Parameters:
    ///   - source: gets them in place of a token endpoint's client.
    ///   - requestTimeout: how long it may take.
    ///   - clock: the machine's, except in tests.
    ///   - onEvent: as above.
    package init(
        of source: any OAuthService,
        requestTimeout: Duration,
        clock: any NetworkClock,
        onEvent: @escaping @Sendable (OAuthEvent) -> Void
    ) {
        // Never contacted.
        let endpoint = Origin(scheme: .https, host: "token-endpoint.invalid")
        var configuration = OAuthConfiguration(
            tokenEndpoint: ServerEndpoint(origin: endpoint, target: "/"),
            clientID: ""
        )
        configuration.requestTimeout = requestTimeout
        self.init(
            service: source,
            tokenStore: MemoryTokenStore(),
            configuration: configuration,
            clock: clock,
            onEvent: onEvent
        )
    }

    deinit { following?.cancel() }

    /// Whether a token can be obtained without a new sign-in, as far as is known now.
    ///
    /// With a grant that presents refresh tokens: whether there is one that is neither dead nor past the
    /// end the server named for it. Before the store was read, which `start()` does, only the one of the
    /// configuration is known. With any other grant always.
    public nonisolated var isSignedIn: Bool { snapshot.isSignedIn(at: clock.wallNow) }

    // MARK: - Requests

    /// The token, if it is good now.
    ///
    /// When it is about to expire, this starts a renewal that no request waits for.
    public nonisolated func currentCredential() -> Credential? {
        currentCredential(at: clock.moment)
    }

    /// The token, if it is good at a moment the caller has already read from the clock.
    public nonisolated func currentCredential(at now: Moment) -> Credential? {
        switch snapshot.read(at: now) {
        case .fresh(let credential): return credential
        case .stale(let credential):
            // The manager's own task: the request that noticed does not wait for it.
            Task { await refreshEarly() }
            return credential
        case .none: return nil
        }
    }

    /// The token, or a new one.
    ///
    /// - Throws: `NetworkError` of kind `.credentialUnavailable` (with `retryAfter`),
    ///   `.reauthorizationRequired`, `.httpResponseTimeout` at the deadline, or `.cancelled`.
    public nonisolated func credential(
        until deadline: ContinuousClock.Instant?
    ) async throws -> Credential {
        var wait = TokenWait(for: self, until: deadline)
        return try await wait.credential()
    }

    /// Judges a 401 by its challenges and by the generation of the token that was refused, and renews the
    /// token if that may help.
    ///
    /// A token that has been replaced since costs no token request. Waits at most the wait timeout or until
    /// the exchange's deadline; with `report` or `afterReplay` it does not wait.
    public nonisolated func rejected(_ rejection: Rejection) async -> Verdict {
        guard let generation = rejection.generation else { return .passThrough(.staticCredential) }
        let doubt: TokenStanding.Doubt
        let triage = ChallengeTriage.judge(
            rejection.headers,
            content: rejection.content,
            isBound: configuration.proof != nil
        )
        switch triage {
        case .passThrough(let reason):
            // A server that names what else is wrong has looked at the token.
            await handle(.answered(generation: generation, .accepted))
            return .passThrough(reason)
        case .proofRefused:
            return await decide { engine, _ in
                engine.judgeProof(of: generation, rejection.intent)
            }
        case .suspected: doubt = .suspected
        case .refused: doubt = .refused
        }
        var wait = TokenWait(for: self, until: rejection.deadline)
        return await wait.verdict(on: doubt, of: generation, rejection.intent)
    }

    /// Learns that a request with the credential was not refused.
    public nonisolated func accepted(_ credential: Credential) {
        guard let generation = credential.generation, snapshot.wantsAcceptanceReport else { return }
        // Called once per token and doubt; the request does not wait for it.
        Task { await handle(.answered(generation: generation, .accepted)) }
    }

    /// What a request without a usable token does next.
    enum Admission {
        case credential(Credential)
        case wait(RenewalWaiters)
        case refused(NetworkError)
    }

    /// Admits a request that found no token in the snapshot.
    func admit() -> Admission { admission(decide { $0.admit(at: $1) }) }

    /// What a request gets whose wait brought no token; `nil` if it is to ask again.
    func answerAfterWait() -> Admission? {
        engine.answerAfterWait(at: clock.moment).map { admission($0) }
    }

    private func admission(_ decision: TokenEngine.Admission) -> Admission {
        switch decision {
        case .credential(let credential): .credential(credential)
        case .wait(let queue): .wait(waiters(in: queue))
        case .refused(let refusal): .refused(NetworkError(refusal))
        }
    }

    /// What to do with a 401.
    enum Judgement {
        case verdict(Verdict)
        case wait(RenewalWaiters)
    }

    /// Judges a 401 that casts doubt on a token.
    func judge(
        _ doubt: TokenStanding.Doubt,
        of generation: Int,
        _ intent: Rejection.Intent
    ) -> Judgement {
        switch decide({ $0.judge(doubt, of: generation, intent, at: $1) }) {
        case .verdict(let verdict): .verdict(verdict)
        case .wait(let queue): .wait(waiters(in: queue))
        }
    }

    /// Has what other processes store passed on from now on, if the store can tell.
    func followChanges() {
        if following == nil { following = access.followChanges(for: self) }
    }

    /// Puts the next check of the store off.
    func postponeStoreCheck() {
        decide { engine, now in engine.postponeStoreCheck(at: now) }
        publish()
    }

    /// Learns what another process has stored.
    func take(_ found: TokenRecord?) {
        handle(.storeChecked(found, since: engine.beginStoreCheck(), jitter: jitter()))
    }

    /// The last pause after a failed renewal, and where to wait for its end.
    var pause: (RenewalBackoff.Pause, RenewalWaiters)? {
        guard let pause = engine.backoff.pause, let pauseWaiters else { return nil }
        return (pause, pauseWaiters)
    }
}
