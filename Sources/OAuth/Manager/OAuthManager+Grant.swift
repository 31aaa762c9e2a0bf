import NetworkCore

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
        switch configuration.grant {
        case .refreshToken: break
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
        guard let token = ledger.refreshToken(evenSpent: reason == .forced) else {
            return reason == .recovery ? .nothingToDo : .missing
        }
        if reason == .recovery, ledger.openIntent(for: token) == nil { return .nothingToDo }
        if reason != .forced, let quarantine = ledger.quarantine(of: token) {
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

    /// Whether there is what a token can be had with, and until when, as far as is known.
    func signedIn() -> (Bool, until: UnixTime?) {
        guard case .refreshToken = configuration.grant else { return (true, nil) }
        guard trouble.death == nil, let token = ledger.refreshToken(),
            ledger.quarantine(of: token) == nil
        else { return (false, nil) }
        let record = ledger.record
        return (true, token == record?.refreshToken ? record?.refreshExpiresAt : nil)
    }

    /// Whether a grant may be presented now.
    enum Announcement {
        /// It may; `wasOpen` says whether an earlier presentation of the same refresh token had no known
        /// outcome.
        case presentable(wasOpen: Bool)
        /// Somebody has signed in meanwhile.
        case overtaken
        /// Its successor could not be kept, and there is no need of one yet.
        case unkept
    }

    /// Notes durably that a refresh token is about to be presented, unless the server is known to
    /// leave it in force.
    func announce(_ grant: TokenGrant, for reason: OAuthEvent.Reason) async -> Announcement {
        guard let secret = grant.refreshToken else { return .presentable(wasOpen: false) }
        let open = ledger.openIntent(for: secret)
        if ledger.record?.rotates != false {
            let before = ledger.record
            var next = ledger.workingRecord
            next.intent = TokenRecord.Intent(
                fingerprint: TokenRecord.fingerprint(secret),
                startedAt: open?.startedAt ?? clock.wallNow,
                attempts: (open?.attempts ?? 0) + 1
            )
            switch await persist(next) {
            case .overtaken: return .overtaken
            case .kept where ledger.isUnsaved && hasTime(for: reason):
                // Nothing is presented, so there is nothing to note.
                ledger.takeBack(to: before)
                return .unkept
            case .kept, .stored: break
            }
        }
        return .presentable(wasOpen: open != nil)
    }

    /// Whether a renewal can be done later as well: nobody asked for it, and the token at hand is good.
    private func hasTime(for reason: OAuthEvent.Reason) -> Bool {
        guard reason == .early, let current, current.doubt == .none else { return false }
        return isAlive(current, at: clock.moment)
    }

    /// Takes the note back: the answer says that the token was not spent.
    ///
    /// - Returns: what became of the record without it.
    func retract(_ grant: TokenGrant, wasOpen: Bool) async -> TokenLedger.Saving {
        guard !wasOpen, grant.refreshToken != nil, ledger.record?.intent != nil else {
            return .kept
        }
        var next = ledger.workingRecord
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
        guard let token = ledger.refreshToken(), let presented = grant.refreshToken else {
            return false
        }
        return token != presented
    }
}
