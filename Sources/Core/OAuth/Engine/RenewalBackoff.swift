import NetworkCore

/// The reason why no token is requested now, and the last failure.
///
/// A pause and a death are independent: reading the store again for a dead credential may fail.
struct RenewalBackoff {
    /// The token endpoint is left alone for a while.
    struct Pause: Equatable {
        let failure: OAuthFailure
        let end: ContinuousClock.Instant
    }

    /// The refresh token is not accepted any more: only a new sign-in helps.
    struct Death: Equatable {
        let failure: OAuthFailure
        /// The time to read the store again, in case of a sign-in elsewhere.
        let checkAgainAt: ContinuousClock.Instant
    }

    /// The reason why no token is requested.
    enum Refusal: Equatable {
        case dead(OAuthFailure)
        /// The failure, and how long the pause still lasts.
        case paused(OAuthFailure, Duration)
    }

    /// The time between two readings of the store for a dead credential.
    private static let deathCheckInterval = Duration.seconds(5)

    /// The last pause, which may be over.
    private(set) var pause: Pause?
    private(set) var death: Death?
    /// The last failure, until a token comes.
    private(set) var lastFailure: OAuthFailure?
    private var failuresInRow = 0
    /// The end of the time in which good tokens are not renewed: no request waits for that.
    private var quietEnd: ContinuousClock.Instant?

    /// The reason why no token is requested now; `nil` if nothing prevents it.
    func refusal(at now: Moment) -> Refusal? {
        if let death, now.steady < death.checkAgainAt { return .dead(death.failure) }
        if let pause = activePause(at: now) {
            return .paused(pause.failure, pause.end - now.steady)
        }
        return nil
    }

    /// The pause, if it is not over.
    func activePause(at now: Moment) -> Pause? {
        pause.flatMap { now.steady < $0.end ? $0 : nil }
    }

    /// Whether the excess guard has stopped the renewals.
    var isExcess: Bool { pause?.failure.kind == OAuthFailure.excess }

    /// Whether a good token is not renewed now.
    func isQuiet(at now: Moment) -> Bool { refusal(at: now) != nil || quietEnd(at: now) != nil }

    /// The earliest time of the next early renewal; `nil` if nothing delays it.
    func quietEnd(at now: Moment) -> ContinuousClock.Instant? {
        quietEnd.flatMap { now.steady < $0 ? $0 : nil }
    }

    /// Pauses after a failed token request.
    ///
    /// - Parameters:
    ///   - failure: the failure.
    ///   - kind: the kind that determines the delay.
    ///   - retryAfterLimit: the longest honored `Retry-After`.
    ///   - jitter: a random number from 0 to 1.
    ///   - now: the time.
    /// - Returns: the failure, with the time of the next attempt.
    mutating func fail(
        _ failure: TokenFailure,
        as kind: TokenFailure.Class,
        retryAfterLimit: Duration,
        jitter: Double,
        at now: Moment
    ) -> OAuthFailure {
        failuresInRow += 1
        let urgency = Urgency(failure, kind)
        var delay = Self.delay(urgency, failuresInRow: failuresInRow, jitter: jitter)
        let asked = failure.retryAfter.map { min($0, retryAfterLimit) } ?? .zero
        delay = max(delay, asked)
        let early = Self.delay(.patient, failuresInRow: failuresInRow, jitter: jitter)
        quietEnd = now.steady + max(delay, early)
        return pause(OAuthFailure(failure, at: now), for: delay, at: now)
    }

    /// Leaves the token endpoint alone for a while.
    ///
    /// - Returns: the failure, with the time of the next attempt.
    mutating func pause(
        _ failure: OAuthFailure,
        for delay: Duration,
        at now: Moment
    ) -> OAuthFailure {
        var failure = failure
        // Counted from the time of the failure, which users see: a later time would add a second.
        failure.nextAttempt = failure.at + delay
        pause = Pause(failure: failure, end: now.steady + delay)
        lastFailure = failure
        return failure
    }

    /// Marks the credential as dead: no request is made until a new credential arrives.
    ///
    /// - Returns: whether it is new.
    mutating func markDead(_ failure: OAuthFailure, at now: Moment) -> Bool {
        let isNews = death?.failure.detail != failure.detail
        death = Death(failure: failure, checkAgainAt: now.steady + Self.deathCheckInterval)
        pause = nil
        lastFailure = failure
        return isNews
    }

    /// Clears the dead state: the store holds another refresh token than the one that died.
    mutating func revive() { death = nil }

    /// Allows the next token request immediately; the last failure is still reported.
    mutating func clear() {
        pause = nil
        quietEnd = nil
        death = nil
        failuresInRow = 0
    }

    /// Notes that a token is in force.
    mutating func succeed() {
        clear()
        lastFailure = nil
    }

    /// The urgency of the next attempt.
    enum Urgency {
        /// Requests wait, and it may work in a moment.
        case urgent
        /// No request waits, or the server has refused a grant that will be presented again.
        case patient
        /// It works only after an operator or a user has acted.
        case hopeless

        init(_ failure: TokenFailure, _ kind: TokenFailure.Class) {
            switch kind {
            case .configuration, .invalidGrant: self = failure.needsOperator ? .hopeless : .urgent
            // A new grant may be refused for another reason.
            case .transient, .lost: self = failure.kind == .invalidGrant ? .patient : .urgent
            }
        }
    }

    /// The delay before the next token request.
    ///
    /// Full jitter between 1 s and a ceiling that doubles: to 8 s while requests wait, so that a
    /// repaired endpoint is used within seconds, and to 60 s otherwise. For errors of client or
    /// configuration 60 s at first, as MSAL keeps an identical 400, doubling to 10 min.
    static func delay(_ urgency: Urgency, failuresInRow: Int, jitter: Double) -> Duration {
        let doublings = Double(1 << min(max(failuresInRow - 1, 0), 10))
        return switch urgency {
        case .urgent: .seconds(max(1, min(doublings, 8) * jitter))
        case .patient: .seconds(max(1, min(doublings, 60) * jitter))
        case .hopeless: .seconds(min(60 * doublings, 600))
        }
    }
}

extension OAuthFailure {
    /// Returns the death of a credential that has no refresh token.
    ///
    /// - Parameters:
    ///   - record: the stored record of a sign-in; `nil` without one.
    ///   - now: the time.
    /// - Returns: the failure.
    static func signedOut(_ record: TokenRecord?, at now: Moment) -> OAuthFailure {
        var failure = OAuthFailure(
            kind: TokenFailure.Class.invalidGrant.rawValue,
            detail: "not signed in: there is no refresh token; sign in",
            at: now.wall
        )
        failure.signIn = record?.isSignedOut ?? true ? .missing : .ended
        return failure
    }

    /// A failed token request, as it is reported.
    init(_ failure: TokenFailure, at now: Moment) {
        self.init(
            kind: failure.kind.rawValue,
            detail: failure.detail,
            serverError: failure.serverError,
            at: now.wall
        )
    }
}
