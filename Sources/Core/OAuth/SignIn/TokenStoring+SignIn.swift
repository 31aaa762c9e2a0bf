public import NetworkCore

extension TokenStoring {
    /// Checks that ``keepSignIn(_:configuration:asked:clock:)`` can write, before a user signs in.
    ///
    /// - Parameter clock: measures the wait for the lock.
    /// - Throws: `TokenStoreError`, `CancellationError`.
    public func prepareSignIn(clock: any NetworkClock = SystemClock()) async throws {
        let lock = try await signInLock(by: clock)
        defer { lock.release() }
        _ = try await soundRecord(under: lock)
    }

    /// Stores the tokens of a sign-in and replaces any others.
    ///
    /// Running managers, in this and in other processes, find them there.
    ///
    /// - Parameters:
    ///   - response: the tokens.
    ///   - configuration: the client that they belong to.
    ///   - asked: the time of the token request.
    ///   - clock: measures the wait for the lock.
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
        record.pinned = configuration.pinned
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

    /// Removes the stored record.
    ///
    /// - Throws: `TokenStoreError`, `CancellationError`.
    public func forgetSignIn(clock: any NetworkClock = SystemClock()) async throws {
        let lock = try await signInLock(by: clock)
        defer { lock.release() }
        if let found = try await soundRecord(under: lock) {
            try await remove(revision: found.revision)
        }
    }

    /// Returns the stored record; `nil` for corrupt content, which loading has set aside.
    func soundRecord(under lock: TokenStoreLock) async throws -> TokenRecord? {
        do {
            return try await load(under: lock)
        } catch TokenStoreError.corrupt {
            return nil
        }
    }

    /// Takes the lock, waiting longer than a renewal takes: a user is waiting.
    private func signInLock(by clock: any NetworkClock) async throws -> TokenStoreLock {
        try await lock(until: clock.now + .seconds(30), clock: clock)
    }
}
