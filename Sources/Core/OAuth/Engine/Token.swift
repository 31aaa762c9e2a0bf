import NetworkCore

/// An access token with its properties.
struct Token: Sendable {
    /// The token.
    let value: Secret
    /// The time of its request: its lifetime counts from there, the safe side of "issued".
    let issuedAt: Moment
    /// The time of its expiry; `nil` if the server named none.
    let expiresAt: Moment?
    /// The time for its renewal, by the server's own hint (`refresh_in`).
    let refreshAt: Moment?
    /// The refresh token it came with, or was obtained with.
    let refreshToken: Secret?
    /// The number of the token; counts up with every replacement.
    let generation: Int
    /// The granted scope (RFC 6749 §3.3).
    let scope: String?
    /// The authentication scheme it is presented with.
    let scheme: String
    /// Whether it serves only the requests that waited for it.
    let isForOneUse: Bool
    /// Proves possession of the key that it is bound to; `nil` for a bearer token.
    let proof: ProofOfPossession?

    /// The occasions on which a token is requested.
    enum Occasion {
        /// A refusal here.
        case refusal
        /// Another one: the token may have been issued before a refusal.
        case other
    }

    /// The value of the `Authorization` field (RFC 9110 §11.6.2).
    var fieldValue: String { "\(scheme) \(value.reveal())" }
}

extension Token {
    /// The token of a response from the token endpoint.
    ///
    /// - Parameters:
    ///   - response: the response.
    ///   - grant: the presented grant.
    ///   - sent: the time of the request.
    ///   - generation: its number.
    ///   - knownScope: the scope of the token before it.
    ///   - configuration: the requested properties.
    init(
        _ response: TokenResponse,
        for grant: TokenGrant,
        sent: Moment,
        generation: Int,
        knownScope: String?,
        _ configuration: OAuthConfiguration
    ) {
        let lifetime = configuration.lifetime(of: response)
        // RFC 6749 §6: a refresh token presented without scopes keeps the ones it has.
        let inherited = grant.refreshToken == nil ? nil : knownScope
        self.init(
            value: response.accessToken,
            issuedAt: sent,
            expiresAt: lifetime.map { sent + $0 },
            refreshAt: response.refreshIn.map { sent + $0 },
            refreshToken: response.refreshToken ?? grant.refreshToken,
            generation: generation,
            scope: response.scope ?? inherited ?? configuration.scopes.joined(separator: " "),
            scheme: response.scheme,
            isForOneUse: lifetime == .zero,
            proof: configuration.proof
        )
    }

    /// A token from the store.
    init(
        stored: TokenRecord.AccessToken,
        of record: TokenRecord,
        found now: Moment,
        generation: Int,
        proof: ProofOfPossession?
    ) {
        // The rest of its lifetime, but never more than the whole: the wall clock may have been set.
        let left = stored.expiresAt.map { min($0 - now.wall, $0 - stored.issuedAt) }
        let age = max(now.wall - stored.issuedAt, .zero)
        self.init(
            value: stored.value,
            issuedAt: now + (.zero - age),
            expiresAt: left.map { now + $0 },
            refreshAt: stored.refreshAt.map { now + ($0 - now.wall) },
            refreshToken: record.refreshToken,
            generation: generation,
            scope: stored.scope,
            scheme: stored.scheme,
            isForOneUse: false,
            proof: proof
        )
    }
}

/// The times from which a token is renewed in the background, and from which requests wait for its
/// successor.
struct TokenWindows {
    /// The shortest time until a background renewal that a server wants.
    private static let shortestHint = Duration.seconds(6)

    /// From here on it is renewed in the background.
    private(set) var stale: Moment
    /// From here on requests wait for the next one.
    let due: Moment

    /// Computes both windows; `nil` for a token that does not expire.
    ///
    /// The advisory window is `refreshBefore`, at most 20 % of the lifetime, less up to a tenth
    /// (`jitter`, 0 to 1) so that many processes do not renew together; the mandatory one is 5 % of the
    /// lifetime, between 1 s and 30 s and never more than half of the lifetime.
    init?(_ token: Token, refreshBefore: Duration, jitter: Double) {
        guard let end = token.expiresAt else { return nil }
        let lifetime = max(end.remaining(at: token.issuedAt), .zero)
        let mandatory = min(max(min(.seconds(30), lifetime / 20), .seconds(1)), lifetime / 2)
        let advisory = min(refreshBefore, lifetime / 5) * (1 - 0.1 * jitter)
        due = end + (.zero - mandatory)
        var stale = end + (.zero - max(advisory, mandatory))
        if let hint = token.refreshAt {
            // A hint of a second must not flood the token endpoint while the token is good.
            let earliest = token.issuedAt + min(Self.shortestHint, lifetime / 2)
            let wanted = hint.steady < earliest.steady ? earliest : hint
            if wanted.steady < due.steady { stale = wanted }
        }
        self.stale = stale
    }

    /// Moves the background renewal to a later moment, but not past the mandatory window.
    mutating func postpone(to later: Moment) {
        guard stale.steady < later.steady else { return }
        stale = later.steady < due.steady ? later : due
    }

    /// Moves the background renewal to an earlier moment.
    mutating func advance(to earlier: Moment) { stale = earlier }
}

extension Credential {
    /// The credential of a token; `nil` if the token is not a valid field value.
    ///
    /// - Parameters:
    ///   - token: the token.
    ///   - occasion: the occasion of its request.
    init?(_ token: Token, _ occasion: Token.Occasion) {
        self.init(
            accessToken: Secret(token.fieldValue),
            generation: token.generation,
            issuedAt: token.issuedAt.steady,
            isForOneUse: token.isForOneUse,
            mayPredateRefusal: occasion == .other,
            proof: token.proof.map { BoundToken(token: token.value, proof: $0) }
        )
    }
}
