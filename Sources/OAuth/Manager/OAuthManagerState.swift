import NetworkCore

/// The token at hand with everything that is computed once per token.
struct CurrentToken {
    /// What is thought of it since it was issued.
    enum Doubt: Int {
        case none
        /// An upstream answered 401 without saying that the token is bad.
        case suspected
        /// An upstream said `invalid_token`.
        case refused
    }

    let token: Token
    let credential: Credential
    var windows: TokenWindows?
    var doubt = Doubt.none
    /// Whether the API took it before anybody doubted it.
    var hasServed = false
    /// Until then a 401 to this token renews nothing: a renewal was tried and did not help.
    var settledUntil: ContinuousClock.Instant?
    /// The same of a 401 that does not say that the token is bad.
    var suspicionSettledUntil: ContinuousClock.Instant?
    /// Whether it was refused where the renewal that brought it was to help.
    var wasRefusedAnew = false

    /// Whether another process has obtained it: how good it is, is known here no better than of one
    /// that was good an hour ago.
    var isAdopted = false

    /// Nothing if the token is unfit for a field.
    init?(_ token: Token, windows: TokenWindows?) {
        guard let credential = Credential(token) else { return nil }
        self.token = token
        self.credential = credential
        self.windows = windows
    }
}

/// A renewal that is going on.
struct Renewal {
    let id: Int
    let reason: OAuthEvent.Reason
    let room: WaitingRoom
    let task: Task<Void, Never>
    let watchdog: Task<Void, Never>

    /// The longest a renewal may take: the lock, what is presented, the disk.
    static func limit(_ configuration: OAuthConfiguration) -> Duration {
        lockTimeout(configuration) + presentations(configuration) + .seconds(5)
    }

    /// Three of them, with a search for metadata and another proof where there are such.
    private static func presentations(_ configuration: OAuthConfiguration) -> Duration {
        let search = configuration.issuer == nil ? Duration.zero : .seconds(10)
        let proof = configuration.proof == nil ? .zero : configuration.requestTimeout
        return configuration.requestTimeout * 3 + search + proof
    }

    /// What is left at least of that when a machine goes on that was suspended: as long as the
    /// transport goes on to wait for an answer.
    static func lastPart(_ configuration: OAuthConfiguration) -> Duration {
        configuration.requestTimeout + .seconds(5)
    }

    /// How long to wait for another process that renews: as long as it may take for that.
    static func lockTimeout(_ configuration: OAuthConfiguration) -> Duration {
        presentations(configuration) + .seconds(2)
    }
}

/// A renewal that brought a token, for the excess guard.
struct PastRenewal {
    /// So many revocations of tokens that the API took weigh as much as one token that it never took.
    static let revocationsForOne = 6

    let time: ContinuousClock.Instant
    /// Whether the API had taken the token that was replaced.
    let hadServed: Bool
}

/// The token endpoint is left alone for a while.
struct Outage {
    let failure: OAuthFailure
    let until: ContinuousClock.Instant
    /// Where requests wait for the end.
    let room: WaitingRoom
}

/// Only a person can help.
struct Death {
    let failure: OAuthFailure
    /// When to look into the store again, in case somebody signed in.
    var checkAgainAt: ContinuousClock.Instant
}

/// How long to leave the token endpoint alone.
enum BackOff {
    /// Full jitter between 1 s and a ceiling that doubles to 60 s.
    ///
    /// For faults of client or configuration 60 s at first, as MSAL keeps an identical 400,
    /// doubling to 10 min.
    static func delay(_ kind: TokenFailure.Class, failuresInRow: Int, jitter: Double) -> Duration {
        let doublings = Double(1 << min(max(failuresInRow - 1, 0), 10))
        switch kind {
        case .configuration, .invalidGrant: return .seconds(min(60 * doublings, 600))
        case .transient, .lost: return .seconds(max(1, min(doublings, 60) * jitter))
        }
    }
}
