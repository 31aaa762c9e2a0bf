import NetworkCore

/// An access token and what is known about it.
struct Token: Sendable {
    /// The token.
    let value: Secret
    /// When it was asked for: its lifetime counts from there, the safe side of "issued".
    let issuedAt: Moment
    /// When it ends; nothing if the server did not say.
    let expiresAt: Moment?
    /// When it should be renewed, by the server's own hint (`refresh_in`).
    let refreshAt: Moment?
    /// The refresh token it came with or was bought with.
    let refreshToken: Secret?
    /// Which token of this manager it is; counts up with every replacement.
    let generation: Int
    /// What it is good for, as granted (RFC 6749 §3.3).
    let scope: String?
    /// The scheme that it is presented with.
    let scheme: String
    /// Whether it serves only those who waited for it.
    let isForOneUse: Bool
    /// Proves possession of the key that it is bound to; nothing for a bearer token.
    let proof: ProofOfPossession?

    /// The value of the `Authorization` field (RFC 9110 §11.6.2).
    var fieldValue: String { "\(scheme) \(value.reveal())" }
}

/// When a token is renewed in the background, when callers wait for its successor, when it ends.
struct TokenWindows {
    /// From here on it is renewed in the background.
    private(set) var stale: Moment
    /// From here on callers wait for the next one.
    let due: Moment

    /// Computes the windows: the advisory one is `refreshBefore`, at most 20 % of the lifetime, less
    /// up to a tenth (`jitter`, 0 to 1) so that many processes do not ask at once; the mandatory one
    /// 5 % of the lifetime, between 1 s and 30 s and never more than half of it.
    init?(_ token: Token, refreshBefore: Duration, jitter: Double) {
        guard let end = token.expiresAt else { return nil }
        let lifetime = max(end.remaining(at: token.issuedAt), .zero)
        let mandatory = min(max(min(.seconds(30), lifetime / 20), .seconds(1)), lifetime / 2)
        let advisory = min(refreshBefore, lifetime / 5) * (1 - 0.1 * jitter)
        due = end + (.zero - mandatory)
        var stale = end + (.zero - max(advisory, mandatory))
        if let hint = token.refreshAt, hint.steady < due.steady { stale = hint }
        self.stale = stale
    }

    /// Moves the background renewal to a later moment, but not behind the mandatory window.
    mutating func postpone(to later: Moment) {
        guard stale.steady < later.steady else { return }
        stale = later.steady < due.steady ? later : due
    }

    /// Moves the background renewal to an earlier moment.
    mutating func advance(to earlier: Moment) { stale = earlier }
}

extension Credential {
    /// Makes the credential of a token; `nil` if that is unfit for a field.
    init?(_ token: Token) {
        self.init(
            accessToken: Secret(token.fieldValue),
            generation: token.generation,
            issuedAt: token.issuedAt.steady,
            isForOneUse: token.isForOneUse,
            proof: token.proof.map { BoundToken(token: token.value, proof: $0) }
        )
    }
}
