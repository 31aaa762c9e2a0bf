public import NetworkCore

extension TokenStoring {
    /// Finds out whether ``keepSignIn(_:configuration:asked:clock:)`` could write, before a person
    /// signs in for nothing.
    ///
    /// - Parameter clock: how long to wait for the lock.
    /// - Throws: `TokenStoreError`, `CancellationError`.
    public func prepareSignIn(clock: any NetworkClock = SystemClock()) async throws {
        let lock = try await signInLock(by: clock)
        defer { lock.release() }
        _ = try await soundRecord(under: lock)
    }

    /// Stores what a sign-in brought, in place of whatever is stored.
    ///
    /// Managers that run meanwhile, here or in other processes, find it there.
    ///
    /// - Parameters:
    ///   - response: the tokens.
    ///   - configuration: whom they belong to.
    ///   - asked: when the tokens were asked for.
    ///   - clock: how long to wait for the lock.
    /// - Throws: `TokenStoreError`, `CancellationError`.
    public func keepSignIn(
        _ response: TokenResponse,
        configuration: OAuthConfiguration,
        asked: UnixTime,
        clock: any NetworkClock = SystemClock()
    ) async throws {
        let lock = try await signInLock(by: clock)
        defer { lock.release() }
        let revision = try await soundRecord(under: lock)?.revision ?? 0
        var record = TokenRecord(authority: configuration.authority)
        record.revision = revision + 1
        record.refreshToken = response.refreshToken
        record.refreshExpiresAt = response.refreshLifetime.map { asked + $0 }
        if case .refreshToken(let seed?) = configuration.grant {
            record.seed = TokenRecord.fingerprint(seed)
        }
        record.accessTokens[configuration.credentialKey] = TokenRecord.AccessToken(
            value: response.accessToken,
            issuedAt: asked,
            expiresAt: configuration.lifetime(of: response).map { asked + $0 },
            refreshAt: response.refreshIn.map { asked + $0 },
            scope: response.scope ?? configuration.scopes.joined(separator: " "),
            scheme: response.scheme
        )
        try await save(record, replacing: revision)
    }

    /// Removes what is stored, whatever it is.
    ///
    /// - Throws: `TokenStoreError`, `CancellationError`.
    public func forgetSignIn(clock: any NetworkClock = SystemClock()) async throws {
        let lock = try await signInLock(by: clock)
        defer { lock.release() }
        if let found = try await soundRecord(under: lock) {
            try await remove(revision: found.revision)
        }
    }

    /// What is stored; nothing for what makes no sense, which was set aside just now.
    func soundRecord(under lock: TokenStoreLock) async throws -> TokenRecord? {
        do {
            return try await load(under: lock)
        } catch TokenStoreError.corrupt {
            return nil
        }
    }

    /// A person waits for the lock, and whoever has it renews: longer than one exchange takes.
    private func signInLock(by clock: any NetworkClock) async throws -> TokenStoreLock {
        try await lock(until: clock.now + .seconds(30), clock: clock)
    }
}
