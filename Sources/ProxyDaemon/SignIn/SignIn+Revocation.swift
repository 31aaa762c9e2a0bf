import NetworkCore
import ProxyConfig

extension SignIn {
    /// Revokes what is stored (RFC 7009); what is stored stays where it is.
    ///
    /// Under the lock: a renewal that goes on meanwhile would leave tokens that nobody revokes.
    ///
    /// - Returns: what became of it, for the person.
    /// - Throws: `Failure` if what is stored cannot be read.
    package func revoke() async throws -> [String] {
        let lock: TokenStoreLock?
        let record: TokenRecord?
        do {
            lock = try await lockedStore()
            record = try await client.store.load()
        } catch {
            throw Failure(description: "the stored tokens cannot be read: \(error)")
        }
        defer { lock?.release() }
        guard let record else { return ["Nobody was signed in to \(channel.name)."] }
        guard record.authority == client.configuration.authority else {
            return ["The stored tokens belong to another client or server; they are not revoked."]
        }
        let server: ServerMetadata
        do {
            server = try await client.server(needing: \.revocationEndpoint)
        } catch {
            return ["The tokens were not revoked: \(error)."]
        }
        let revocation = Revocation(
            transport: client.transport,
            server: server,
            configuration: client.configuration,
            clockOffset: client.service.clockOffset
        )
        var lines: [String] = []
        if let token = record.refreshToken {
            lines.append(sentence("refresh token", await revocation.revoke(token, .refreshToken)))
        }
        for kept in record.accessTokens.values {
            lines.append(
                sentence("access token", await revocation.revoke(kept.value, .accessToken))
            )
        }
        return lines
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

    private func sentence(_ name: String, _ outcome: Revocation.Outcome) -> String {
        switch outcome {
        case .revoked: "The server has revoked the \(name)."
        case .notOffered:
            "The server names no place to revoke the \(name) at: it is good until it ends."
        case .kindNotOffered: "The server does not revoke the \(name): it is good until it ends."
        case .failed(let words): "The \(name) was not revoked: \(words)."
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
