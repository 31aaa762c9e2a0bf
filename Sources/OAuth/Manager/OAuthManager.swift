public import NetworkCore

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
    /// Itself: no wait goes on after its deadline.
    public nonisolated func timed() -> any Authorizing { self }
    /// The clocks that lifetimes are measured by.
    public nonisolated let clock: any NetworkClock

    nonisolated let service: any OAuthService
    nonisolated let store: any TokenStoring
    nonisolated let configuration: OAuthConfiguration
    nonisolated let onEvent: @Sendable (OAuthEvent) -> Void
    nonisolated let jitter: @Sendable () -> Double
    nonisolated let snapshot: CredentialSnapshot

    /// The last token, also one that has ended.
    var current: CurrentToken?
    /// Counts the tokens of this manager.
    var generation = 0
    /// The renewal that is going on.
    var renewal: Renewal?
    /// The new token that one request tries while others wait.
    var probe: Probe?
    /// What stands in the way of the next token.
    var trouble = Trouble()
    /// When tokens were asked for that came, within the window of the excess guard.
    var renewalTimes: [PastRenewal] = []
    /// How many tokens in a row were refused where their renewal was to help.
    var vainRenewals = 0
    /// The record of the tokens, in memory and in the store.
    let ledger: TokenLedger
    /// Whose place this manager takes, until it has what that one could not write.
    var predecessor: OAuthManager?
    /// Whether a successor has what could not be written.
    var hasLeft = false
    /// When to look whether somebody else changed the store.
    var nextLook = Moment.never
    /// Tries again to write what could not be written.
    var rewrite: Task<Void, Never>?
    /// Counts renewals, so that a late one is told from its successor.
    var renewals = 0

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
        ledger = TokenLedger(tokenStore, configuration)
        self.clock = clock
        self.jitter = jitter
        self.onEvent = onEvent
        snapshot = CredentialSnapshot(isSignedIn: configuration.grant.isSelfSufficient)
    }

    /// Whether a token can be had without a person signing in, as far as is known now.
    ///
    /// With a grant that presents refresh tokens: whether there is one that is neither dead nor past
    /// the end the server named for it. Before the store was looked into, which `start()` does, only
    /// the one of the configuration is known. With any other grant always.
    public nonisolated var isSignedIn: Bool { snapshot.isSignedIn(at: clock.wallNow) }

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
            Task { await attend() }
            return credential
        case .none: return nil
        }
    }

    /// The token at hand, or a new one.
    ///
    /// - Throws: `NetworkError` of kind `.credentialUnavailable` (with `retryAfter`),
    ///   `.reauthorizationRequired`, `.httpResponseTimeout` at the deadline, or `.cancelled`.
    public nonisolated func credential(
        until deadline: ContinuousClock.Instant?
    ) async throws -> Credential {
        let limit = waitLimit(deadline)
        let patience = patienceLimit(limit)
        while true {
            switch await admit() {
            case .credential(let credential): return credential
            case .refused(let error):
                guard await outlivesFailure(until: patience, as: .request) else { throw error }
            case .wait(let room):
                switch await room.wait(until: limit, as: .request) {
                case .outcome(.credential(let credential)): return credential
                // Behind a token that was refused the next renewal goes on already.
                case .outcome(.idle), .outcome(.refusedAgain): continue
                case .outcome(.failed), .outcome(.dead), .outcome(.sameToken):
                    do {
                        if let credential = try await settle() { return credential }
                        // Somebody has signed in since, or it was a sign-in that failed.
                        continue
                    } catch {
                        guard await outlivesFailure(until: patience, as: .request) else {
                            throw error
                        }
                    }
                case .timedOut:
                    if let credential = try await settle() { return credential }
                    if let deadline, deadline <= limit { throw NetworkError.timeout(.credential) }
                    throw OAuthManager.unavailable(
                        "no token came within the time the request may wait",
                        retryAfter: 1
                    )
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
}
