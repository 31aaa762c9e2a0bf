import NetworkCore

/// The records that a renewal writes, each made from the one in memory.
extension TokenLedger {
    private var base: TokenRecord {
        if let record { return record }
        var first = TokenRecord(authority: configuration.authority)
        first.pinned = configuration.pinned
        return first
    }

    /// The record before the refresh token is presented: while it stands, that token may be spent.
    func announcing(_ refreshToken: Secret, at now: UnixTime) -> TokenRecord {
        let open = openIntent(for: refreshToken)
        var next = base
        next.intent = TokenRecord.Intent(
            fingerprint: TokenRecord.fingerprint(refreshToken),
            startedAt: open?.startedAt ?? now,
            attempts: (open?.attempts ?? 0) + 1
        )
        return next
    }

    /// The record after an answer which says that the refresh token was not spent.
    func withoutIntent() -> TokenRecord {
        var next = base
        next.intent = nil
        return next
    }

    /// The record with a refresh token that came in an answer of no other use.
    func keeping(_ refreshToken: Secret) -> TokenRecord {
        var next = base
        next.refreshToken = refreshToken
        next.refreshExpiresAt = nil
        next.rotates = true
        setSeed(of: &next)
        return next
    }

    /// The record with a refresh token that the server refused: it is kept, with the reason, and not used.
    func quarantining(_ refreshToken: Secret, _ failure: OAuthFailure) -> TokenRecord {
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

    /// The record with the tokens of an answer.
    func adding(
        _ token: Token,
        from response: TokenResponse,
        for grant: TokenGrant,
        _ reason: OAuthEvent.Reason
    ) -> TokenRecord {
        let isSignIn = reason == .signIn
        var next = base
        next.intent = nil
        next.quarantine = nil
        if grant.refreshToken != nil || isSignIn {
            let replacement = response.refreshToken ?? grant.refreshToken
            next.rotates = isSignIn ? nil : replacement != grant.refreshToken
            // A server that leaves a token in force need not repeat when it expires.
            if replacement != next.refreshToken || response.refreshLifetime != nil {
                next.refreshExpiresAt = response.refreshLifetime.map { token.issuedAt.wall + $0 }
            }
            next.refreshToken = replacement
            setSeed(of: &next)
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
