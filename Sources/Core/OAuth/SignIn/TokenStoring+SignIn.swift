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
        record.session = String(UInt64.random(in: .min ... .max), radix: 36)
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

    /// Replaces the stored tokens by the record of a sign-out.
    ///
    /// - Throws: `TokenStoreError`, `CancellationError`.
    public func forgetSignIn(clock: any NetworkClock = SystemClock()) async throws {
        let lock = try await signInLock(by: clock)
        defer { lock.release() }
        if let found = try await soundRecord(under: lock), !found.isSignedOut {
            _ = try await signOut(of: found, at: clock.wallNow)
        }
    }

    /// Replaces a stored record by the record of a sign-out; returns it.
    ///
    /// - Throws: `TokenStoreError.conflict` if something else is stored; `.unavailable`.
    package func signOut(of found: TokenRecord, at time: UnixTime) async throws -> TokenRecord {
        var next = found.signedOut(at: time)
        next.revision = await nextRevision(of: found.session, after: found.revision)
        try await save(next, replacing: found.revision)
        return next
    }

    /// The revision of a record of a session that replaces the stored one.
    package func nextRevision(of session: String?, after revision: Int) async -> Int {
        let known = await revisions()[TokenRecord.name(ofSession: session)] ?? 0
        return max(revision, known) + 1
    }

    /// Returns the stored record; `nil` for corrupt content, which loading has set aside.
    func soundRecord(under lock: TokenStoreLock?) async throws -> TokenRecord? {
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
