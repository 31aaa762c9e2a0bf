import NetproxyChannels
import NetproxyConfig
import NetworkCore
import OAuth

extension SignIn {
    /// Revokes the stored tokens (RFC 7009), and leaves them in the store.
    ///
    /// Holds the store's lock, because a concurrent renewal would leave valid tokens behind.
    ///
    /// - Returns: the outcome, for the user.
    /// - Throws: `Failure` if the stored tokens cannot be read.
    package func revoke() async throws -> RevocationOutcome {
        let lock: TokenStoreLock?
        let record: TokenRecord?
        do {
            lock = try await lockedStore()
            record = try await client.store.load()
        } catch {
            throw Failure(description: "the stored tokens cannot be read: \(error)")
        }
        defer { lock?.release() }
        guard let record, !record.isSignedOut else {
            return RevocationOutcome(lines: ["No tokens of \(credential.name) are stored."])
        }
        guard record.authority == client.configuration.authority else {
            return RevocationOutcome(lines: [
                "The stored tokens belong to another client or server; they are not revoked."
            ])
        }
        return await revoke(record.refreshToken, record.accessTokens.values.map(\.value))
    }

    /// Revokes the tokens of a sign-in that cannot be stored; otherwise they would stay valid.
    func giveBack(_ response: TokenResponse) async -> RevocationOutcome {
        await revoke(response.refreshToken, [response.accessToken])
    }

    private func revoke(
        _ refreshToken: Secret?,
        _ accessTokens: [Secret]
    ) async -> RevocationOutcome {
        let server: ServerMetadata
        do {
            server = try await client.server(needing: \.revocationEndpoint)
        } catch {
            return RevocationOutcome(failures: ["the tokens were not revoked: \(error)"])
        }
        let revocation = Revocation(
            transport: client.transport,
            server: server,
            configuration: client.configuration,
            clockOffset: client.service.clockOffset
        )
        var outcome = RevocationOutcome()
        if let refreshToken {
            outcome.add("refresh token", await revocation.revoke(refreshToken, .refreshToken))
        }
        for token in accessTokens {
            outcome.add("access token", await revocation.revoke(token, .accessToken))
        }
        return outcome
    }

    /// Returns the lock of the store, or `nil` if the directory permits none.
    ///
    /// Readable tokens can be revoked without the lock.
    private func lockedStore() async throws -> TokenStoreLock? {
        do {
            let clock = SystemClock()
            return try await client.store.lock(until: clock.now + .seconds(50), clock: clock)
        } catch TokenStoreError.unavailable {
            return nil
        }
    }

    /// Removes the stored tokens.
    ///
    /// - Throws: `Failure`.
    package func forget() async throws {
        do {
            try await client.store.forgetSignIn()
        } catch {
            throw Failure(description: "the stored tokens cannot be removed: \(error)")
        }
    }
}
