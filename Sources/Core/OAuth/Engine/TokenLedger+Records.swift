import NetworkCore

extension TokenLedger {
    /// A change that a renewal makes to the record.
    enum RecordChange {
        /// The refresh token is about to be presented: while this stands, it may be spent.
        case announcement(of: Secret, at: UnixTime)
        /// The response says that the refresh token was not spent.
        case retraction
        /// A refresh token came in a response without another use.
        case refreshToken(Secret)
        /// The server refused the refresh token: it is kept with the reason, and not used.
        case quarantine(Secret, OAuthFailure)
        /// The server issued tokens.
        case tokens(Token, TokenResponse, for: TokenGrant, OAuthEvent.Reason)
    }

    /// Returns the record in memory with a change.
    func record(with entry: RecordChange) -> TokenRecord {
        switch entry {
        case .announcement(let token, let now): announcing(token, at: now)
        case .retraction: withoutIntent()
        case .refreshToken(let token): keeping(token)
        case .quarantine(let token, let failure): quarantining(token, failure)
        case .tokens(let token, let response, let grant, let reason):
            adding(token, from: response, for: grant, reason)
        }
    }

    private var base: TokenRecord {
        if let record { return record }
        var first = TokenRecord(authority: configuration.authority)
        first.pinned = configuration.pinned
        return first
    }

    private func announcing(_ refreshToken: Secret, at now: UnixTime) -> TokenRecord {
        let open = openIntent(for: refreshToken)
        var next = base
        next.intent = TokenRecord.Intent(
            fingerprint: TokenRecord.fingerprint(refreshToken),
            startedAt: open?.startedAt ?? now,
            attempts: (open?.attempts ?? 0) + 1
        )
        return next
    }

    private func withoutIntent() -> TokenRecord {
        var next = base
        next.intent = nil
        return next
    }

    private func keeping(_ refreshToken: Secret) -> TokenRecord {
        var next = base
        next.refreshToken = refreshToken
        next.refreshExpiresAt = nil
        next.rotates = true
        setSeed(of: &next)
        return next
    }

    private func quarantining(_ refreshToken: Secret, _ failure: OAuthFailure) -> TokenRecord {
        var next = base
        next.intent = nil
        next.quarantine = TokenRecord.Quarantine(
            fingerprint: TokenRecord.fingerprint(refreshToken),
            reason: failure.detail,
            since: failure.at
        )
        if failure.serverError == "invalid_client", next.pinned?.client.kind == .registered {
            next.pinned?.client.kind = .refused
        }
        return next
    }

    private func adding(
        _ token: Token,
        from response: TokenResponse,
        for grant: TokenGrant,
        _ reason: OAuthEvent.Reason
    ) -> TokenRecord {
        let isSignIn = reason == .signIn
        var next = base
        next.intent = nil
        next.quarantine = nil
        next.signedOutAt = nil
        if grant.refreshToken != nil || isSignIn {
            let replacement = response.refreshToken ?? grant.refreshToken
            next.rotates = isSignIn ? nil : replacement != grant.refreshToken
            // A server that leaves a token in force need not repeat when it expires.
            if replacement != next.refreshToken || response.refreshLifetime != nil {
                next.refreshExpiresAt = response.refreshLifetime.map { token.issuedAt.wall + $0 }
            }
            next.refreshToken = replacement
            setSeed(of: &next)
            if next.session == nil || isSignIn {
                next.session = TokenRecord.fingerprint(replacement ?? token.value)
            }
        }
        next.accessTokens[configuration.credentialKey] =
            token.isForOneUse
            ? nil
            : TokenRecord.AccessToken(
                value: token.value,
                issuedAt: token.issuedAt.wall,
                expiresAt: token.expiresAt?.wall,
                refreshAt: token.refreshAt?.wall,
                scope: token.scope,
                scheme: token.scheme
            )
        return next
    }

    private func setSeed(of record: inout TokenRecord) {
        guard case .refreshToken(let seed) = configuration.grant else { return }
        record.seed = seed.map(TokenRecord.fingerprint)
    }
}
