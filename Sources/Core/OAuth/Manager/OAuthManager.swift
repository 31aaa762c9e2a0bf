public import NetworkCore

/// Owns the tokens of one credential: gets them, renews them before they expire, and judges 401s.
///
/// Requests that need a token at the same time share one token request and its result. A renewal
/// belongs to the manager, not to the request that caused it: a cancelled request gives up only its own
/// wait. Managers that share a token store, in this process or in others, renew one after the other
/// under the store's lock; they share an access token only if scopes, audience, resources and
/// parameters are equal.
///
/// Every decision is made by `TokenEngine`, a value; the manager performs the actions. An actor on the
/// default executor. `currentCredential()` neither hops to it nor allocates.
public actor OAuthManager: Authorizing {
    /// `oauth`.
    public nonisolated var kind: String { "oauth" }
    /// `Authorization` (RFC 6750 §2.1).
    public nonisolated var fieldName: HTTPFieldName { .authorization }
    /// Itself: no wait lasts longer than its deadline.
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
    /// The renewal in progress, and the requests that wait.
    var queues = RenewalQueues()
    /// Writes the record that could not be written.
    var rewriting: Task<Void, Never>?
    /// The last reported fault of the store, until a record could be written.
    var reportedFault: String?
    /// The lock of the store, while the successor of a presented refresh token is only in memory.
    var keptLock: TokenStoreLock?
    /// The fault of the store, until it serves again.
    var storeFault: StoreFault?
    /// The revisions that the store keeps for the next start.
    var keptRevisions: [String: Int] = [:]
    /// Passes on the records of other processes.
    private var following: Task<Void, Never>?
    /// The replaced manager, until this one has the record that it could not write.
    var predecessor: OAuthManager?

    /// Makes a manager; nothing is sent or read until a request needs a token, or `start()` is called.
    ///
    /// - Parameters:
    ///   - service: talks to the authorization server, such as a `TokenEndpointClient`.
    ///   - tokenStore: keeps the tokens of the grant family.
    ///   - configuration: the client, the server and the limits.
    ///   - clock: the machine's, except in tests.
    ///   - onEvent: receives every event; called on the manager, so it must not block.
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

    /// As above, with a source of numbers from 0 to 1 instead of random ones.
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
        snapshot = CredentialSnapshot(
            .init(isSignedIn: configuration.grant.isSelfSufficient)
        )
        engine = TokenEngine(configuration)
    }

    /// Makes the manager of credentials that no token endpoint issues, and that need no store.
    ///
    /// - Parameters:
    ///   - source: gets them instead of a token endpoint's client.
    ///   - requestTimeout: the longest time of one request to the source.
    ///   - clock: the machine's, except in tests.
    ///   - onEvent: as above.
    package init(
        of source: any OAuthService,
        requestTimeout: Duration,
        clock: any NetworkClock,
        onEvent: @escaping @Sendable (OAuthEvent) -> Void
    ) {
        self.init(
            service: source,
            tokenStore: MemoryTokenStore(),
            configuration: .withoutEndpoint(requestTimeout: requestTimeout),
            clock: clock,
            onEvent: onEvent
        )
    }

    deinit { following?.cancel() }

    /// Whether a token can be obtained without a new sign-in.
    ///
    /// With a grant that presents refresh tokens, there must be one that is neither dead nor expired, or an
    /// access token that has not expired. Only the configured refresh token is known until the store is read,
    /// which `start()` does. The value is always true with any other grant.
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

    /// Judges a 401 by its challenges and by the generation of the refused token, and renews the token
    /// if that may help.
    ///
    /// A refused token that has been replaced causes no token request. Waits at most the wait timeout
    /// or until the exchange's deadline; with `report` or `afterReplay` it does not wait.
    public nonisolated func rejected(_ rejection: Rejection) async -> Verdict {
        var wait = TokenWait(for: self, until: rejection.deadline)
        return await wait.verdict(on: rejection)
    }

    /// Learns that a request with the credential was not refused.
    public nonisolated func accepted(_ credential: Credential) {
        guard let generation = credential.generation, snapshot.wantsAcceptanceReport else { return }
        // Called once per token and doubt; the request does not wait for it.
        Task { await handle(.responded(generation: generation, .accepted)) }
    }

    /// Admits a request that found no token in the snapshot.
    func admit() -> Admission<RenewalWaiters> {
        decide { $0.admit(at: $1) }.map { queues.waiters(in: $0) }
    }

    /// Decides about a request whose wait brought no token; `nil` if it starts over.
    func admitAfterWait() -> Admission<RenewalWaiters>? {
        engine.admitAfterWait(at: clock.moment)?.map { queues.waiters(in: $0) }
    }

    /// Judges a 401 that casts doubt on a token.
    func judge(
        _ doubt: TokenStanding.Doubt,
        of generation: Int,
        _ intent: Rejection.Intent
    ) -> Judgement<RenewalWaiters> {
        decide { $0.judge(doubt, of: generation, intent, at: $1) }
            .map { queues.waiters(in: $0) }
    }

    /// Follows the changes of other processes to the store from now on, if it reports them.
    func followChanges() {
        if following == nil { following = access.followChanges(for: self) }
    }

    /// The last pause after a failed renewal, with the requests that wait for its end.
    var pause: (RenewalBackoff.Pause, RenewalWaiters)? {
        guard let pause = engine.backoff.pause, let waiters = queues.pauseWaiters else {
            return nil
        }
        return (pause, waiters)
    }
}
