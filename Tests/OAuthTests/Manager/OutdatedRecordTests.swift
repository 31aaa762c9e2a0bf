import NetworkCore
import OAuth
import TestSupport
import Testing

/// Older copies of the stored tokens, as after a restored snapshot or an attack on the store.
@Suite struct OutdatedRecordTests {
    private let store = WatchedStore()

    private func harness(beside other: OAuthHarness? = nil) -> OAuthHarness {
        OAuthHarness(
            grant: .refreshToken(initial: nil),
            clock: other?.clock ?? ManualClock(),
            server: other?.server,
            store: store
        )
    }

    /// Renews twice; returns the manager and the record after the first renewal.
    private func renewedTwice() async throws -> (OAuthHarness, TokenRecord) {
        try store.put { $0.refreshToken = Secret("initial") }
        let harness = harness()
        _ = try await harness.token()
        let first = try #require(store.record)
        #expect(await harness.reject(1) == .replay)
        #expect(try await harness.token() == "Bearer access-2")
        return (harness, first)
    }

    private func untilWritten(_ harness: OAuthHarness) async -> Bool {
        await eventually {
            harness.clock.advance(by: .seconds(1))
            return store.record?.refreshToken == Secret("refresh-2")
        }
    }

    @Test func `newer tokens in memory replace an older copy`() async throws {
        let (harness, first) = try await renewedTwice()
        try store.restore(first)
        harness.clock.advance(by: .seconds(11))
        #expect(harness.manager.currentCredential()?.generation == 2)
        #expect(await eventually { harness.reported.contains(.outdated) })
        #expect(await untilWritten(harness))
        #expect(try await harness.token() == "Bearer access-2")
        #expect(harness.requests == 2)
    }

    @Test func `a renewal presents the newer refresh token`() async throws {
        let (harness, first) = try await renewedTwice()
        try store.restore(first)
        #expect(await harness.reject(2) == .replay)
        #expect(harness.server.requests.last?.form["refresh_token"] == "refresh-2")
        #expect(store.record?.refreshToken == Secret("refresh-3"))
        #expect(!harness.server.sawReuse)
    }

    @Test func `an older copy is not used after a restart`() async throws {
        let (harness, first) = try await renewedTwice()
        try store.restore(first)
        let next = self.harness(beside: harness)
        await next.manager.start()
        let failure = await next.failure()
        #expect(failure?.kind == .credentialUnavailable)
        #expect(failure?.detail.contains("an older copy") == true)
        #expect(harness.requests == 2)
        // A new sign-in is a session of its own.
        harness.server.admit(refreshToken: "signed-in")
        var response = TokenResponse(accessToken: Secret("new"), lifetime: .seconds(3600))
        response.refreshToken = Secret("signed-in")
        try await store.keepSignIn(
            response,
            configuration: OAuthHarness.configuration(.refreshToken(initial: nil)),
            asked: harness.clock.wallNow
        )
        harness.clock.advance(by: .seconds(11))
        #expect(try await next.token() == "Bearer new")
    }

    @Test func `the tokens of a session before the last sign-in are an older copy`() async throws {
        let (harness, _) = try await renewedTwice()
        let before = try #require(store.record)
        harness.server.admit(refreshToken: "signed-in")
        try await harness.manager.signIn(with: .refreshToken(Secret("signed-in")))
        let next = try await harness.token()
        try store.restore(before)
        harness.clock.advance(by: .seconds(11))
        _ = harness.manager.currentCredential()
        #expect(await eventually { harness.reported.contains(.outdated) })
        #expect(try await harness.token() == next)
    }

    @Test func `tokens from before a sign-out do not come back`() async throws {
        let (harness, _) = try await renewedTwice()
        let before = try #require(store.record)
        try await harness.manager.forget()
        try store.restore(before)
        harness.clock.advance(by: .seconds(11))
        #expect(await harness.failure() != nil)
        #expect(harness.requests == 2)
    }

    @Test func `another process's later tokens make those in memory outdated`() async throws {
        let (harness, first) = try await renewedTwice()
        let session = try #require(store.record?.session)
        // Another process has renewed, and the copy was restored before this one has looked.
        await store.keepRevisions([session: 99])
        try store.restore(first)
        #expect(await harness.reject(2) == .passThrough(.refreshFailed))
        #expect(harness.requests == 2)
        // The other process can write its own.
        let lock = try await store.lock(until: harness.clock.now, clock: harness.clock)
        lock.release()
    }
}
