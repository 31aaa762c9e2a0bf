import NetworkCore

/// The token in use, with its computed renewal times and its standing.
struct HeldToken {
    let token: Token
    let credential: Credential
    /// The renewal times; `nil` if the server named no expiry.
    var windows: TokenWindows?
    var standing: TokenStanding

    /// Makes the credential of a token; `nil` if the token is not a valid field value.
    ///
    /// - Parameters:
    ///   - token: the token.
    ///   - windows: the renewal times.
    ///   - provenance: the origin of the token.
    ///   - occasion: the occasion of its request.
    init?(
        _ token: Token,
        windows: TokenWindows?,
        _ provenance: TokenStanding.Provenance,
        _ occasion: Token.Occasion
    ) {
        guard let credential = Credential(token, occasion) else {
            return nil
        }
        self.token = token
        self.credential = credential
        self.windows = windows
        standing = TokenStanding(provenance)
    }

    /// Whether the token may be used without waiting for its successor.
    func isUsable(at now: Moment, _ backoff: RenewalBackoff) -> Bool {
        guard !token.isForOneUse, !isDue(at: now) else { return false }
        return switch standing.doubt {
        case .none: true
        case .suspected: isAlive(at: now, backoff)
        case .refused: false
        }
    }

    /// Whether the token may be used at all: not after its end, not if it is bad, and not if it may be
    /// bad and no other can be obtained.
    ///
    /// When the excess guard has stopped the renewals, a refused token stays in force: the 401s of an
    /// endpoint that refuses every token reach the client, and do not stop the channel.
    func isAlive(at now: Moment, _ backoff: RenewalBackoff) -> Bool {
        guard !token.isForOneUse, token.expiresAt?.isReached(at: now) != true else { return false }
        return switch standing.doubt {
        case .none: true
        case .suspected: backoff.death == nil
        case .refused: backoff.isExcess
        }
    }

    /// Whether requests wait for the next token rather than take this one.
    func isDue(at now: Moment) -> Bool { windows?.due.isReached(at: now) == true }

    /// Whether it is renewed in the background.
    func isStale(at now: Moment) -> Bool { windows?.stale.isReached(at: now) == true }
}

extension HeldToken {
    /// The access token of a record; `nil` if the record has none, the token in force, or one that is
    /// about to expire.
    ///
    /// - Parameters:
    ///   - record: the stored record.
    ///   - reason: the reason of the renewal; a stale token does not help an early one.
    ///   - current: the token in force.
    ///   - generation: its number.
    ///   - configuration: selects the token of the record.
    ///   - jitter: a random number from 0 to 1.
    ///   - now: the time.
    init?(
        adopting record: TokenRecord,
        for reason: OAuthEvent.Reason,
        replacing current: HeldToken?,
        generation: Int,
        _ configuration: OAuthConfiguration,
        jitter: Double,
        at now: Moment
    ) {
        guard let stored = record.accessTokens[configuration.credentialKey],
            stored.value != current?.token.value, configuration.isOfConfiguredSeed(record)
        else { return nil }
        let token = Token(
            stored: stored,
            of: record,
            found: now,
            generation: generation,
            proof: configuration.proof
        )
        var windows = TokenWindows(
            token,
            refreshBefore: configuration.refreshBefore,
            jitter: jitter
        )
        if let windows, windows.due.isReached(at: now) { return nil }
        if reason == .early, let windows, windows.stale.isReached(at: now) { return nil }
        // An unknown outcome is resolved soon: the server's grace period runs.
        if record.intent != nil { windows?.advance(to: now) }
        self.init(token, windows: windows, .adopted, .other)
    }
}

/// A token that the token endpoint has issued, to be put in force once it is stored.
struct IssuedToken {
    /// The replaced token.
    enum Change {
        /// Another token, or none.
        case replaced
        /// Itself.
        case same
        /// Itself, although it was in doubt.
        case sameInDoubt

        init(of current: HeldToken?, to response: TokenResponse, _ reason: OAuthEvent.Reason) {
            guard let current, response.accessToken == current.token.value else {
                self = .replaced
                return
            }
            // The doubt may be over by now, but it was the reason.
            let isDoubted = current.standing.doubt != .none || reason == .unauthorized
            self = isDoubted ? .sameInDoubt : .same
        }
    }

    let change: Change
    let reason: OAuthEvent.Reason
    /// Its `token_type`, if it differs from the scheme.
    let unusualType: String?
    private let issued: HeldToken

    var token: Token { issued.token }

    /// The token of a response; `nil` if it is not a valid field value.
    ///
    /// - Parameters:
    ///   - response: the response.
    ///   - grant: the presented grant.
    ///   - reason: the reason of the renewal.
    ///   - engine: has the replaced token.
    ///   - sent: the time of the request.
    ///   - jitter: a random number from 0 to 1.
    init?(
        _ response: TokenResponse,
        for grant: TokenGrant,
        _ reason: OAuthEvent.Reason,
        in engine: TokenEngine,
        sent: Moment,
        jitter: Double
    ) {
        let configuration = engine.configuration
        change = Change(of: engine.current, to: response, reason)
        self.reason = reason
        unusualType = response.unusualType
        let stored = engine.record?.accessTokens[configuration.credentialKey]
        let token = Token(
            response,
            for: grant,
            sent: sent,
            generation: engine.generation + (change == .replaced ? 1 : 0),
            knownScope: engine.current?.token.scope ?? stored?.scope,
            configuration
        )
        let windows = TokenWindows(
            token,
            refreshBefore: configuration.refreshBefore,
            jitter: jitter
        )
        let occasion: Token.Occasion = reason == .unauthorized ? .refusal : .other
        guard let issued = HeldToken(token, windows: windows, .issued, occasion) else { return nil }
        self.issued = issued
    }

    /// The token as it is put in force.
    func held(at now: Moment) -> HeldToken {
        var held = issued
        if change != .replaced {
            // No progress, as with servers that cache (google-auth#863): no early renewal for a while.
            held.windows?.postpone(to: now + .seconds(60))
        }
        if change == .sameInDoubt {
            let end = now.steady + TokenStanding.CoolDown.length
            held.standing = TokenStanding(.returnedAgain(end: end))
        }
        return held
    }
}
