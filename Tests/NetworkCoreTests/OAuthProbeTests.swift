import NetworkCore
import TestSupport
import Testing

/// A storm of 401s, and the new token that ends it or does not.
@Suite struct OAuthProbes {
    /// Refuses the first token for 32 requests that are in flight together.
    private func storm(
        _ harness: OAuthHarness,
        meanwhile: () async -> Void
    ) async throws -> [(status: Int, reason: String?)] {
        _ = try await harness.token()
        harness.server.revokeAccess()
        harness.api.gate.close()
        harness.server.gate.close()
        async let answers = withThrowingTaskGroup { group in
            for _ in 0..<32 {
                group.addTask {
                    let (response, context) = try await harness.send()
                    return (response.status.rawValue, context.authorization?.notReplayed)
                }
            }
            return try await group.reduce(into: [(Int, String?)]()) { $0.append($1) }
        }
        #expect(await eventually { harness.api.gate.waiting == 32 })
        harness.api.gate.open()
        #expect(await eventually { await harness.manager.status().waiters == 32 })
        harness.api.gate.close()
        harness.server.gate.open()
        await meanwhile()
        return try await answers
    }

    @Test func `one request tries the new token before all others follow`() async throws {
        let harness = OAuthHarness()
        let answers = try await storm(harness) {
            #expect(await eventually { harness.api.gate.waiting == 1 })
            #expect(harness.manager.currentCredential() == nil)
            harness.api.gate.open()
        }
        #expect(answers.allSatisfy { $0.status == 200 })
        #expect(harness.requests == 2)
    }

    @Test func `a new token that is refused as well costs one request and not a second storm`()
        async throws
    {
        let harness = OAuthHarness()
        harness.api.refuseEverything()
        let answers = try await storm(harness) {
            #expect(await eventually { harness.api.gate.waiting == 1 })
            harness.api.gate.open()
        }
        #expect(answers.allSatisfy { $0.status == 401 })
        #expect(answers.filter { $0.reason == "token_refused_again" }.count == 31)
        #expect(harness.api.seen.count == 33)
        #expect(harness.requests == 2)
    }

    @Test func `a first request that does not come back keeps the others for two seconds`()
        async throws
    {
        let harness = OAuthHarness()
        let answers = try await storm(harness) {
            #expect(await eventually { harness.api.gate.waiting == 1 })
            harness.clock.advance(by: .seconds(2))
            #expect(await eventually { harness.api.gate.waiting == 32 })
            harness.api.gate.open()
        }
        #expect(answers.allSatisfy { $0.status == 200 })
    }

    @Test func `a new request waits with the others while the token is tried`() async throws {
        let harness = OAuthHarness()
        let answers = try await storm(harness) {
            #expect(await eventually { harness.api.gate.waiting == 1 })
            let late = Task { try await harness.send().response.status.rawValue }
            // It is not sent before the first one's answer is there.
            #expect(await eventually { harness.clock.sleepers >= 2 })
            #expect(harness.api.gate.waiting == 1)
            harness.api.gate.open()
            #expect(await (try? late.value) == 200)
        }
        #expect(answers.allSatisfy { $0.status == 200 })
        #expect(harness.requests == 2)
    }
}
