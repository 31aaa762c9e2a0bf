import NetworkCore
import TestSupport
import Testing

@testable import OAuth

/// The values of `isSignedIn`.
@Suite struct SignedInTests {
    private func harness(_ initial: String?, _ store: any TokenStoring) -> OAuthHarness {
        OAuthHarness(grant: .refreshToken(initial: initial.map { Secret($0) }), store: store)
    }

    @Test func `without a sign-in the manager is not signed in`() async throws {
        let harness = harness(nil, MemoryTokenStore())
        #expect(!harness.manager.isSignedIn)
        await harness.manager.start()
        #expect(!harness.manager.isSignedIn)
        _ = await harness.failure()
        #expect(!harness.manager.isSignedIn)
    }

    @Test func `a stored refresh token counts once it was seen`() async throws {
        let store = WatchedStore()
        try store.put { $0.refreshToken = Secret("initial") }
        let harness = harness(nil, store)
        #expect(!harness.manager.isSignedIn)
        await harness.manager.start()
        #expect(harness.manager.isSignedIn)
        try await harness.manager.forget()
        #expect(!harness.manager.isSignedIn)
    }

    @Test func `a sign-out elsewhere counts`() async throws {
        let store = WatchedStore()
        let harness = harness(nil, store)
        try await harness.manager.signIn(with: .refreshToken(Secret("initial")))
        #expect(harness.manager.isSignedIn)
        try await store.forgetSignIn()
        harness.clock.advance(by: .seconds(11))
        _ = harness.manager.currentCredential()
        #expect(await eventually { !harness.manager.isSignedIn })
    }

    @Test func `a sign-in elsewhere ends a death at once`() async throws {
        let store = WatchedStore()
        let harness = harness(nil, store)
        #expect(await harness.failure()?.kind == .reauthorizationRequired)
        try store.put { $0.refreshToken = Secret("initial") }
        try await harness.manager.lookIntoStore()
        #expect(harness.manager.isSignedIn)
        #expect(try await harness.token() == "Bearer access-1")
    }

    @Test func `a look into a store that cannot be read tells so`() async throws {
        let store = WatchedStore()
        let harness = harness(nil, store)
        store.failsLocking = true
        let error = await #expect(throws: NetworkError.self) {
            try await harness.manager.lookIntoStore()
        }
        #expect(error?.kind == .credentialUnavailable)
        #expect(error?.detail.contains("tokens.lock") == true)
    }

    @Test func `a configured refresh token counts, also after forgetting`() async throws {
        let harness = harness("initial", MemoryTokenStore())
        #expect(harness.manager.isSignedIn)
        await harness.manager.start()
        #expect(harness.manager.isSignedIn)
        try await harness.manager.forget()
        #expect(harness.manager.isSignedIn)
    }

    @Test func `a refresh token in quarantine does not count after a restart`() async throws {
        let store = MemoryTokenStore()
        let first = harness("initial", store)
        first.server.revokeAll()
        #expect(await first.failure()?.kind == .reauthorizationRequired)
        let second = harness("initial", store)
        await second.manager.start()
        #expect(!second.manager.isSignedIn)
    }

    @Test(arguments: ["refresh_expires_in", "refresh_token_expires_in"])
    func `an expired refresh token does not count and is presented nevertheless`(
        member: String
    ) async throws {
        let store = MemoryTokenStore()
        let harness = harness("initial", store)
        harness.server.setExtra(#","\#(member)":7200"#)
        _ = try await harness.token()
        #expect(await harness.manager.status().refreshExpiresIn == .seconds(7200))
        let end = try #require(store.record?.refreshExpiresAt)
        #expect(end == harness.clock.wallNow + .seconds(7200))
        harness.clock.advance(by: .seconds(7199))
        #expect(harness.manager.isSignedIn)
        harness.clock.advance(by: .seconds(1))
        #expect(!harness.manager.isSignedIn)
        #expect(await harness.manager.status().refreshExpiresIn == .zero)
        #expect(try await harness.token() == "Bearer access-2")
        #expect(harness.server.requests.last?.form["refresh_token"] == "refresh-1")
        #expect(harness.manager.isSignedIn)
    }

    @Test func `the end of a refresh token that stays in force need not be repeated`()
        async throws
    {
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")), rotates: false)
        harness.server.setExtra(#","refresh_expires_in":7200"#)
        _ = try await harness.token()
        harness.server.setExtra("")
        harness.clock.advance(by: .seconds(60))
        try await harness.manager.forceRefresh()
        #expect(await harness.manager.status().refreshExpiresIn == .seconds(7140))
    }

    @Test func `a sign-in without a refresh token lasts as long as its token`() async throws {
        let store = MemoryTokenStore()
        let harness = harness(nil, store)
        let response = TokenResponse(accessToken: Secret("alone"), lifetime: .seconds(3600))
        try await store.keepSignIn(
            response,
            configuration: harness.manager.configuration,
            asked: harness.clock.wallNow,
            clock: harness.clock
        )
        #expect(try await harness.token() == "Bearer alone")
        #expect(harness.manager.isSignedIn)
        harness.clock.advance(by: .seconds(3600))
        #expect(!harness.manager.isSignedIn)
        let error = await harness.failure()
        #expect(error?.kind == .reauthorizationRequired)
        #expect((error?.underlying as? OAuthFailure)?.signIn == .ended)
    }

    @Test func `a failure before the first sign-in, and after a sign-out, names no ended sign-in`()
        async throws
    {
        let harness = harness(nil, MemoryTokenStore())
        let first = await harness.failure()
        #expect((first?.underlying as? OAuthFailure)?.signIn == .missing)
        try await harness.manager.signIn(with: .refreshToken(Secret("initial")))
        try await harness.manager.forget()
        let second = await harness.failure()
        #expect((second?.underlying as? OAuthFailure)?.signIn == .missing)
    }

    @Test func `the tokens of a sign-in replace the configured token`() async throws {
        let store = MemoryTokenStore()
        let clock = ManualClock()
        var response = TokenResponse(
            accessToken: Secret("by-a-person"),
            lifetime: .seconds(3600),
            refreshToken: Secret("theirs")
        )
        response.refreshLifetime = .seconds(7200)
        try await store.keepSignIn(
            response,
            configuration: OAuthHarness.configuration(.refreshToken(initial: Secret("initial"))),
            asked: clock.wallNow,
            clock: clock
        )
        #expect(store.record?.refreshExpiresAt == clock.wallNow + .seconds(7200))
        let harness = OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            clock: clock,
            store: store
        )
        #expect(try await harness.token() == "Bearer by-a-person")
        #expect(harness.requests == 0)
    }

    @Test func `after a sign-in without a refresh token the configured one stays spent`()
        async throws
    {
        let store = MemoryTokenStore()
        let clock = ManualClock()
        let seed = OAuthConfiguration.Grant.refreshToken(initial: Secret("initial"))
        try await store.keepSignIn(
            TokenResponse(accessToken: Secret("by-a-person"), lifetime: .seconds(60)),
            configuration: OAuthHarness.configuration(seed),
            asked: clock.wallNow,
            clock: clock
        )
        let harness = OAuthHarness(grant: seed, clock: clock, store: store)
        #expect(try await harness.token() == "Bearer by-a-person")
        clock.advance(by: .seconds(61))
        #expect(await harness.failure()?.kind == .reauthorizationRequired)
        #expect(harness.requests == 0)
        // Only a command presents it.
        try await harness.manager.forceRefresh()
        #expect(harness.server.requests.map { $0.form["refresh_token"] } == ["initial"])
    }

    @Test func `a lifetime of zero means the same at a sign-in as later`() async throws {
        let store = MemoryTokenStore()
        let clock = ManualClock()
        var configuration = OAuthHarness.configuration(.refreshToken(initial: nil))
        configuration.zeroLifetime = .unknown
        configuration.defaultLifetime = .seconds(60)
        try await store.keepSignIn(
            TokenResponse(accessToken: Secret("by-a-person"), lifetime: .zero, refreshToken: nil),
            configuration: configuration,
            asked: clock.wallNow,
            clock: clock
        )
        let ends = store.record?.accessTokens.values.map(\.expiresAt)
        #expect(ends == [clock.wallNow + .seconds(60)])
    }

    @Test func `an offline token has no end`() async throws {
        let store = MemoryTokenStore()
        let harness = harness("initial", store)
        harness.server.setExtra(#","refresh_expires_in":0"#)
        _ = try await harness.token()
        #expect(store.record?.refreshExpiresAt == nil)
        #expect(harness.manager.isSignedIn)
    }

    @Test func `a grant that needs no person is always signed in`() async throws {
        let harness = OAuthHarness()
        #expect(harness.manager.isSignedIn)
        _ = try await harness.token()
        try await harness.manager.forget()
        #expect(harness.manager.isSignedIn)
    }
}
