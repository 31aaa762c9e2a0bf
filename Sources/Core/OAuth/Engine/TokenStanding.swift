import NetworkCore

/// The standing of a token: whether it is in doubt, and whether a renewal would help against the next
/// 401.
struct TokenStanding: Equatable {
    /// The strength of the upstreams' doubt in the token.
    enum Doubt: Int, Comparable {
        case none
        /// An upstream sent a 401 without saying that the token is bad.
        case suspected
        /// An upstream said `invalid_token`.
        case refused

        static func < (left: Doubt, right: Doubt) -> Bool { left.rawValue < right.rawValue }
    }

    /// The origin of the token, and whether obtaining it helped.
    enum Provenance: Equatable {
        /// The token endpoint issued it.
        case issued
        /// The token endpoint returned it again although it was in doubt: until `end` no 401 to it
        /// causes a renewal.
        case returnedAgain(end: ContinuousClock.Instant)
        /// Another process obtained it; not yet verified here, so a refused replay says nothing about
        /// whether a renewal would help.
        case adopted
        /// The replay with it was refused as well.
        case refusedOnReplay(CoolDown)
    }

    /// The time in which 401s cause no renewal after a refused replay.
    struct CoolDown: Equatable {
        /// The time in which no 401 causes a renewal.
        static let length = Duration.seconds(10)
        /// The longest pause for an API that refuses one new token after the other without a reason.
        static let limit = Duration.seconds(60)

        /// The end of the time in which no 401 causes a renewal.
        let end: ContinuousClock.Instant
        /// The end of the time in which a 401 without `invalid_token` causes none; the time doubles
        /// with each token in a row that did not help.
        let suspicionEnd: ContinuousClock.Instant

        init(failedRenewals: Int, at now: Moment) {
            let doubled = Self.length * (1 << min(max(failedRenewals - 1, 0), 8))
            end = now.steady + Self.length
            suspicionEnd = now.steady + min(doubled, Self.limit)
        }
    }

    /// Whether upstreams have refused the token.
    private(set) var doubt = Doubt.none
    /// Whether the API took the token before it was in doubt.
    private(set) var wasAccepted = false
    /// The origin of the token, and whether obtaining it helped.
    private(set) var provenance: Provenance

    init(_ provenance: Provenance) {
        self.provenance = provenance
    }

    /// Whether a request replayed with the token was refused.
    var isRefusedOnReplay: Bool {
        if case .refusedOnReplay = provenance { true } else { false }
    }

    /// Raises the doubt, unless it is stronger already.
    ///
    /// - Returns: whether it is new.
    mutating func raise(_ doubt: Doubt) -> Bool {
        guard self.doubt < doubt else { return false }
        self.doubt = doubt
        return true
    }

    /// Notes that the API had taken the token.
    mutating func noteAcceptance() { wasAccepted = true }

    /// Takes a suspicion back: a request with the token was answered.
    mutating func clearSuspicion() {
        if doubt == .suspected { doubt = .none }
    }

    /// Notes that the replay with the token was refused; an adopted token keeps its standing.
    mutating func noteRefusedReplay(_ coolDown: CoolDown) {
        if provenance != .adopted { provenance = .refusedOnReplay(coolDown) }
    }

    /// Whether, and why, a renewal would not help against a 401 now.
    enum CoolDownState {
        case over
        /// No 401 causes a renewal.
        case active
        /// Only a 401 that says the token is bad causes a renewal; `isPaused` until the longer pause is over.
        case suspicion(isPaused: Bool)
    }

    /// The state of the pause in renewals.
    func coolDown(at now: Moment) -> CoolDownState {
        switch provenance {
        case .issued, .adopted: .over
        case .returnedAgain(let end): now.steady < end ? .active : .over
        case .refusedOnReplay(let coolDown):
            now.steady < coolDown.end
                ? .active : .suspicion(isPaused: now.steady < coolDown.suspicionEnd)
        }
    }
}
