import NetworkCore
import ProxyConfig

extension SignIn {
    /// Revokes what is stored (RFC 7009); what is stored stays where it is.
    ///
    /// Under the lock: a renewal that goes on meanwhile would leave tokens that nobody revokes.
    ///
    /// - Returns: what became of it, for the person.
    /// - Throws: `Failure` if what is stored cannot be read.
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
        var outcome = RevocationOutcome()
        guard let record else {
            outcome.lines = ["Nobody was signed in to \(channel.name)."]
            return outcome
        }
        guard record.authority == client.configuration.authority else {
            outcome.lines = [
                "The stored tokens belong to another client or server; they are not revoked."
            ]
            return outcome
        }
        let server: ServerMetadata
        do {
            server = try await client.server(needing: \.revocationEndpoint)
        } catch {
            outcome.failures = ["the tokens were not revoked: \(error)"]
            return outcome
        }
        let revocation = Revocation(
            transport: client.transport,
            server: server,
            configuration: client.configuration,
            clockOffset: client.service.clockOffset
        )
        if let token = record.refreshToken {
            outcome.add("refresh token", await revocation.revoke(token, .refreshToken))
        }
        for kept in record.accessTokens.values {
            outcome.add("access token", await revocation.revoke(kept.value, .accessToken))
        }
        return outcome
    }

    /// Nothing where there can be no lock: what can be read can be revoked all the same.
    private func lockedStore() async throws -> TokenStoreLock? {
        do {
            let clock = SystemClock()
            return try await client.store.lock(until: clock.now + .seconds(50), clock: clock)
        } catch TokenStoreError.unavailable {
            return nil
        }
    }

    /// Removes what is stored.
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

/// What became of tokens that were to be revoked.
package struct RevocationOutcome: Sendable {
    /// What happened, or cannot happen, a sentence each.
    package fileprivate(set) var lines: [String] = []
    /// What should have happened: those tokens are good at the server for as long as they live.
    package fileprivate(set) var failures: [String] = []

    fileprivate mutating func add(_ name: String, _ outcome: Revocation.Outcome) {
        switch outcome {
        case .revoked: lines.append("The server has revoked the \(name).")
        case .notOffered:
            lines.append(
                "The server names no place to revoke the \(name) at: it is good until it ends."
            )
        case .kindNotOffered:
            lines.append("The server does not revoke the \(name): it is good until it ends.")
        case .failed(let words): failures.append("the \(name) was not revoked: \(words)")
        }
    }
}
