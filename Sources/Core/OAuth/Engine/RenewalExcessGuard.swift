import NetworkCore

/// Refuses a token request that would be one too many: an API that refuses every token must not flood
/// the token endpoint.
struct RenewalExcessGuard {
    /// A renewal that brought a token.
    struct Renewal: Equatable {
        let time: ContinuousClock.Instant
        /// Whether the API had accepted the replaced token.
        let replacedAcceptedToken: Bool
    }

    /// This many revocations of accepted tokens weigh as much as one token that the API never accepted.
    static let revocationWeight = 6

    private let limit: OAuthConfiguration.ExcessGuard?
    /// The renewals within the window that brought a token.
    ///
    /// One that failed says nothing about the API, and has its own back-off.
    private var renewals: [Renewal] = []

    /// Makes a guard; `nil` refuses nothing.
    init(_ limit: OAuthConfiguration.ExcessGuard?) {
        self.limit = limit
    }

    /// Counts a renewal that brought a token.
    mutating func note(_ renewal: Renewal) {
        if limit != nil { renewals.append(renewal) }
    }

    /// Whether a renewal now would be one too many.
    ///
    /// - Parameters:
    ///   - standing: the standing of the token to replace.
    ///   - now: the time; renewals before the window are forgotten.
    /// - Returns: the failure, and the time without token requests; `nil` if the renewal is allowed.
    mutating func refusal(
        replacing standing: TokenStanding?,
        at now: Moment
    ) -> (failure: OAuthFailure, pause: Duration)? {
        guard let limit else { return nil }
        renewals.removeAll { now.steady - $0.time >= limit.window }
        let futile = renewals.filter { !$0.replacedAcceptedToken }
        let isFutile = standing?.wasAccepted != true && futile.count >= limit.count
        let counted = isFutile ? futile : renewals
        guard isFutile || counted.count >= limit.count * Self.revocationWeight else { return nil }
        let cause =
            isFutile
            ? "the API refuses every token, so check scopes, audience and clocks"
            : "each was good until something revoked it, so check who else renews it"
        let failure = OAuthFailure(
            kind: OAuthFailure.excess,
            detail: "the token was renewed \(counted.count) times within "
                + "\(limit.window.wholeSeconds) s; \(cause)",
            at: now.wall
        )
        let first = counted.first?.time ?? now.steady
        return (failure, limit.window - (now.steady - first))
    }
}

extension OAuthFailure {
    /// The kind of a failure that the excess guard reports.
    static var excess: String { "excess" }
    /// Whether the excess guard has stopped the renewals.
    package var isExcess: Bool { kind == OAuthFailure.excess }
}
