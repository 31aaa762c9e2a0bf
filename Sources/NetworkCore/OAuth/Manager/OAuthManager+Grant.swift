extension OAuthManager {
    /// What there is to present.
    enum NextGrant {
        case grant(TokenGrant)
        /// The refresh token is known to be dead.
        case dead(OAuthFailure)
        /// There is no refresh token.
        case missing
        /// Nothing was left open before the last stop.
        case nothingToDo
    }

    /// - Throws: `TokenFailure` if a grant of the configuration's own cannot be made.
    func nextGrant(_ reason: OAuthEvent.Reason) async throws(TokenFailure) -> NextGrant {
        let seed: Secret?
        switch configuration.grant {
        case .refreshToken(let initial): seed = initial
        case _ where reason == .recovery: return .nothingToDo
        case .clientCredentials:
            return .grant(.clientCredentials(scopes: configuration.scopes))
        case .provided(let provider):
            var configuration = configuration
            configuration.issuer = configuration.issuer ?? service.issuer
            var grant = try await provider.grant(
                for: configuration,
                at: clock.wallNow + service.clockOffset
            )
            grant.isMadeAnew = true
            return .grant(grant)
        }
        guard let token = refreshToken(reason == .forced ? seed : unspent(seed)) else {
            return reason == .recovery ? .nothingToDo : .missing
        }
        let fingerprint = TokenRecord.fingerprint(token)
        if reason == .recovery, record?.intent?.fingerprint != fingerprint { return .nothingToDo }
        if reason != .forced, let quarantine = record?.quarantine,
            quarantine.fingerprint == fingerprint
        {
            return .dead(
                OAuthFailure(
                    kind: TokenFailure.Class.invalidGrant.rawValue,
                    detail: quarantine.reason,
                    serverError: TokenFailure.Class.invalidGrant.rawValue,
                    at: quarantine.since
                )
            )
        }
        return .grant(.refreshToken(token))
    }

    /// The stored refresh token, unless a person has configured another since.
    private func refreshToken(_ seed: Secret?) -> Secret? {
        guard let seed else { return record?.refreshToken }
        guard let record, record.seed == TokenRecord.fingerprint(seed) else { return seed }
        return record.refreshToken ?? seed
    }

    /// The configured refresh token, unless it is known to have had a successor that is gone: then
    /// only a person has it presented again.
    private func unspent(_ seed: Secret?) -> Secret? {
        guard let seed, spentSeed != nil, record?.seed == nil else { return seed }
        return spentSeed == TokenRecord.fingerprint(seed) ? nil : seed
    }

    /// Remembers of a record that is going away that the configured refresh token has had a successor:
    /// to present it again could end the family (RFC 9700 §4.14.2).
    func noteSpentSeed() {
        guard let record, let seed = record.seed, let successor = record.refreshToken,
            TokenRecord.fingerprint(successor) != seed
        else { return }
        spentSeed = seed
    }

    /// Whether there is what a token can be had with, and until when, as far as is known.
    func signedIn() -> (Bool, until: UnixTime?) {
        guard case .refreshToken(let seed) = configuration.grant else { return (true, nil) }
        guard death == nil, let token = refreshToken(unspent(seed)) else { return (false, nil) }
        if let dead = record?.quarantine?.fingerprint, dead == TokenRecord.fingerprint(token) {
            return (false, nil)
        }
        return (true, token == record?.refreshToken ? record?.refreshExpiresAt : nil)
    }

    /// Notes durably that a refresh token is about to be presented, unless the server is known to
    /// leave it in force.
    ///
    /// - Returns: whether an earlier presentation of the same token had no known outcome; nothing if
    ///   the token must not be presented, because somebody has signed in meanwhile.
    func announce(_ grant: TokenGrant) async -> Bool? {
        guard let secret = grant.refreshToken else { return false }
        let fingerprint = TokenRecord.fingerprint(secret)
        let open = record?.intent.flatMap { $0.fingerprint == fingerprint ? $0 : nil }
        if record?.rotates != false {
            var next = workingRecord
            next.intent = TokenRecord.Intent(
                fingerprint: fingerprint,
                startedAt: open?.startedAt ?? clock.wallNow,
                attempts: (open?.attempts ?? 0) + 1
            )
            if await persist(next) == .overtaken { return nil }
        }
        return open != nil
    }

    /// Takes the note back: the answer says that the token was not spent.
    ///
    /// - Returns: what became of the record without it.
    func retract(_ grant: TokenGrant, wasOpen: Bool) async -> Saving {
        guard !wasOpen, grant.refreshToken != nil, record?.intent != nil else { return .kept }
        var next = workingRecord
        next.intent = nil
        return await persist(next)
    }

    /// Whether the store holds another refresh token than the one that was refused: then another
    /// process was faster, or a person has signed in.
    ///
    /// - Throws: `TokenStoreError.unreadable`: then it is not known.
    func findsAnother(than grant: TokenGrant, under lock: TokenStoreLock?) async throws -> Bool {
        do {
            try await readStore(under: lock)
        } catch {
            if case TokenStoreError.unreadable = error { throw error }
            return false
        }
        guard case .refreshToken(let seed) = configuration.grant,
            let token = refreshToken(unspent(seed)), let presented = grant.refreshToken
        else { return false }
        return token != presented
    }
}
