import NetworkCore
import OAuth
import TestSupport
import Testing

/// Forgetting tokens while requests and other managers use the store.
@Suite struct ForgetTests {
    private func signedIn(_ store: WatchedStore) async throws -> OAuthHarness {
        let harness = OAuthHarness(grant: .refreshToken(initial: nil), store: store)
        try await harness.manager.signIn(with: .refreshToken(Secret("initial")))
        return harness
    }

    @Test func `a request does not bring back tokens that are being forgotten`() async throws {
        let store = WatchedStore()
        let harness = try await signedIn(store)
        let door = Door()
        door.close()
        store.door = door
        let forgetting = Task { try await harness.manager.forget() }
        #expect(await eventually { door.waiting == 1 })
        let caller = Task { await harness.failure()?.kind }
        #expect(
            await eventually {
                if harness.manager.currentCredential() != nil { return true }
                return await harness.manager.status().waiters == 1
            }
        )
        #expect(harness.manager.currentCredential() == nil)
        door.open()
        try await forgetting.value
        #expect(await caller.value == .reauthorizationRequired)
        #expect(harness.manager.currentCredential() == nil)
        #expect(store.record?.signedOutAt != nil)
    }

    @Test func `tokens that the store keeps are forgotten in memory nevertheless`() async throws {
        let store = WatchedStore()
        let harness = try await signedIn(store)
        store.failsLocking = true
        await #expect(throws: TokenStoreError.locked("tokens.lock")) {
            try await harness.manager.forget()
        }
        store.failsLocking = false
        #expect(await harness.failure()?.kind == .reauthorizationRequired)
        harness.clock.advance(by: .seconds(11))
        #expect(await harness.failure()?.kind == .reauthorizationRequired)
        #expect(await !harness.manager.status().hasRefreshToken)
        #expect(harness.requests == 1)
        // A record stored from now on is news.
        harness.server.admit(refreshToken: "somebody-else")
        try store.put {
            $0.refreshToken = Secret("somebody-else")
            $0.accessTokens = [:]
        }
        harness.clock.advance(by: .seconds(11))
        #expect(try await harness.token() == "Bearer access-2")
        #expect(store.record?.refreshToken == Secret("refresh-2"))
    }

    @Test func `forgetting is reported`() async throws {
        let harness = try await signedIn(WatchedStore())
        try await harness.manager.forget()
        #expect(harness.events.contains { if case .forgotten = $0 { true } else { false } })
    }

    @Test func `with the tokens a failure is forgotten, and how many there were`() async throws {
        let harness = OAuthHarness()
        for expected in 1...2 {
            harness.server.script(.respond(401, #"{"error":"invalid_client"}"#, [:]))
            #expect(await harness.failure()?.retryAfter == 60)
            #expect(harness.requests == expected)
            try await harness.manager.forget()
        }
    }

    @Test func `with the tokens a death is forgotten`() async throws {
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")))
        harness.server.script(.respond(400, #"{"error":"invalid_grant"}"#, [:]))
        #expect(await harness.failure()?.kind == .reauthorizationRequired)
        try await harness.manager.forget()
        #expect(try await harness.token() == "Bearer access-1")
    }

    @Test func `another client's tokens are replaced even if they could not be removed`()
        async throws
    {
        let store = WatchedStore()
        try store.put { $0 = TokenRecord(authority: "other@https://login.example.com/token") }
        let harness = OAuthHarness(store: store)
        store.failsLocking = true
        await #expect(throws: TokenStoreError.self) { try await harness.manager.forget() }
        store.failsLocking = false
        store.failsSaving = true
        #expect(try await harness.token() == "Bearer access-1")
        store.failsSaving = false
        await harness.manager.writeAgain()
        #expect(store.record?.authority == "client@https://login.example.com/token")
        #expect(await !harness.manager.status().isUnsaved)
    }

    @Test func `a person's command waits for a renewal that many wait for`() async throws {
        let harness = OAuthHarness { $0.waiterLimit = 2 }
        harness.server.gate.close()
        let callers = (0..<2).map { _ in Task { try await harness.token() } }
        #expect(await eventually { await harness.manager.status().waiters == 2 })
        let command = Task { try await harness.manager.forceRefresh() }
        #expect(await eventually { await harness.manager.status().waiters == 3 })
        #expect(await harness.failure()?.kind == .credentialUnavailable)
        harness.server.gate.open()
        for caller in callers { #expect(try await caller.value.hasPrefix("Bearer access-")) }
        try await command.value
        #expect(harness.requests == 2)
    }
}
