import NetworkCore
import OAuth
import TestSupport
import Testing

/// Changes to the store by other processes and users.
@Suite struct StoreChangedElsewhereTests {
    private func harness(
        _ store: any TokenStoring,
        beside other: OAuthHarness? = nil,
        configure: (inout OAuthConfiguration) -> Void = { _ in }
    ) -> OAuthHarness {
        OAuthHarness(
            grant: .refreshToken(initial: nil),
            clock: other?.clock ?? ManualClock(),
            server: other?.server,
            store: store,
            configure: configure
        )
    }

    /// A store with a sign-in.
    private func signedIn() -> MemoryTokenStore {
        var record = TokenRecord(authority: "client@https://login.example.com/token")
        record.revision = 1
        record.refreshToken = Secret("initial")
        return MemoryTokenStore(record)
    }

    @Test func `a sign-in by another tool is adopted while the token lives`() async throws {
        let store = signedIn()
        let harness = harness(store)
        #expect(try await harness.token() == "Bearer access-1")
        var record = try #require(store.record)
        let revision = record.revision
        record.revision += 1
        record.refreshToken = Secret("somebody-else")
        record.accessTokens["scope=read"]?.value = Secret("theirs")
        try store.save(record, replacing: revision)
        #expect(harness.manager.currentCredential()?.value == Secret("Bearer access-1"))
        harness.clock.advance(by: .seconds(11))
        // The request does not wait for the check.
        #expect(harness.manager.currentCredential()?.value == Secret("Bearer access-1"))
        #expect(
            await eventually {
                harness.manager.currentCredential()?.value == Secret("Bearer theirs")
            }
        )
        #expect(harness.requests == 1)
    }

    @Test func `a renewal leaves a sign-in at another server alone`() async throws {
        func server(_ issuer: String) -> PinnedServer {
            let client = PinnedServer.Client(id: "client", kind: .configured)
            return PinnedServer(issuer: issuer, resource: "https://api.example.com", client: client)
        }
        let store = signedIn()
        let harness = harness(store) {
            $0.pinned = server("https://login.example.com")
            $0.isDiscovered = true
        }
        _ = try await harness.token()
        var record = TokenRecord(authority: "client@https://other.example.com/token")
        record.revision = 9
        record.refreshToken = Secret("of the other server")
        record.pinned = server("https://other.example.com")
        try store.save(record, replacing: try #require(store.record).revision)
        harness.clock.advance(by: .seconds(3601))
        let failure = await harness.failure()
        #expect(failure?.kind == .credentialUnavailable)
        #expect(failure?.detail.contains("another process has signed in") == true)
        #expect(harness.requests == 1)
        #expect(store.record == record)
    }

    @Test func `another person's refresh token ends the current token`() async throws {
        let store = signedIn()
        let harness = harness(store)
        _ = try await harness.token()
        harness.server.admit(refreshToken: "somebody-else")
        var record = try #require(store.record)
        let revision = record.revision
        record.revision += 1
        record.refreshToken = Secret("somebody-else")
        record.accessTokens = [:]
        try store.save(record, replacing: revision)
        harness.clock.advance(by: .seconds(11))
        _ = harness.manager.currentCredential()
        #expect(await eventually { harness.manager.currentCredential() == nil })
        #expect(try await harness.token() == "Bearer access-2")
        #expect(harness.server.requests.last?.form["refresh_token"] == "somebody-else")
    }

    @Test func `a sign-in after a sign-out is new at any revision`() async throws {
        let store = signedIn()
        let harness = harness(store)
        _ = try await harness.token()
        harness.server.admit(refreshToken: "somebody-else")
        var record = try #require(store.record)
        try await store.forgetSignIn()
        record.session = "another"
        record.refreshToken = Secret("somebody-else")
        record.accessTokens = [:]
        try store.save(record, replacing: try #require(store.record).revision)
        harness.clock.advance(by: .seconds(11))
        _ = harness.manager.currentCredential()
        #expect(await eventually { harness.manager.currentCredential() == nil })
        #expect(try await harness.token() == "Bearer access-2")
    }

    @Test func `a user whose token has expired takes over too`() async throws {
        let store = signedIn()
        let harness = harness(store)
        _ = try await harness.token()
        harness.server.admit(refreshToken: "somebody-else")
        var record = try #require(store.record)
        let revision = record.revision
        record.revision += 1
        record.refreshToken = Secret("somebody-else")
        record.accessTokens["scope=read"]?.value = Secret("theirs")
        record.accessTokens["scope=read"]?.expiresAt = harness.clock.wallNow
        try store.save(record, replacing: revision)
        harness.clock.advance(by: .seconds(11))
        _ = harness.manager.currentCredential()
        #expect(await eventually { harness.manager.currentCredential() == nil })
        #expect(try await harness.token() == "Bearer access-2")
    }

    @Test func `a sign-out elsewhere ends the token here`() async throws {
        let store = signedIn()
        let harness = harness(store)
        _ = try await harness.token()
        try await store.forgetSignIn()
        harness.clock.advance(by: .seconds(11))
        _ = harness.manager.currentCredential()
        #expect(await eventually { harness.manager.currentCredential() == nil })
        #expect(await harness.failure()?.kind == .reauthorizationRequired)
    }

    /// It is spent: presenting it again could end the family at the server.
    @Test func `a sign-out elsewhere does not bring the configured refresh token back`()
        async throws
    {
        let store = MemoryTokenStore()
        let harness = OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            store: store
        )
        _ = try await harness.token()
        try await store.forgetSignIn()
        harness.clock.advance(by: .seconds(11))
        _ = harness.manager.currentCredential()
        #expect(await eventually { harness.manager.currentCredential() == nil })
        #expect(await harness.failure()?.kind == .reauthorizationRequired)
        #expect(harness.requests == 1)
        #expect(!harness.server.sawReuse)
        #expect(!harness.manager.isSignedIn)
    }

    @Test func `a renewal that another process died of is settled within the grace`() async throws {
        let clock = ManualClock()
        let server = AuthorizationServerModel(clock: clock, grace: .seconds(30))
        let store = signedIn()
        func harness() -> OAuthHarness {
            OAuthHarness(
                grant: .refreshToken(initial: nil),
                clock: clock,
                server: server,
                store: store
            ) { $0.lostResponse = .wait }
        }
        let survivor = harness()
        #expect(try await survivor.token() == "Bearer access-1")
        server.script(.lostAnswer)
        try? await harness().manager.forceRefresh()
        #expect(store.record?.intent != nil)
        // The access token lives for long, but the spent refresh token does not.
        clock.advance(by: .seconds(11))
        for _ in 0..<2 {
            #expect(survivor.manager.currentCredential() != nil)
            #expect(await eventually { await survivor.manager.status().state != .refreshing })
        }
        #expect(
            await eventually {
                survivor.manager.currentCredential()?.value == Secret("Bearer access-2")
            }
        )
        #expect(store.record?.intent == nil)
        #expect(!server.sawReuse)
    }

    @Test(arguments: ["invalid_client", "invalid_grant"])
    func `a sign-in elsewhere during a forced renewal ends an earlier failure`(
        error: String
    ) async throws {
        let store = WatchedStore()
        try store.put { $0.refreshToken = Secret("initial") }
        let harness = harness(store)
        harness.server.script(.respond(400, #"{"error":"\#(error)"}"#, [:]))
        #expect(await harness.failure() != nil)
        store.onSave = { _ in
            store.onSave = nil
            try? store.put { $0.refreshToken = Secret("theirs") }
        }
        try await harness.manager.forceRefresh()
        // The next request is sent immediately, and the pause is that of a first failure.
        harness.server.script(.respond(400, #"{"error":"invalid_client"}"#, [:]))
        #expect(await harness.failure()?.retryAfter == 60)
        #expect(harness.server.requests.map { $0.form["refresh_token"] } == ["initial", "theirs"])
    }

    @Test func `looking costs no token request and changes nothing by itself`() async throws {
        let harness = harness(signedIn())
        for _ in 0..<20 {
            #expect(try await harness.token() == "Bearer access-1")
            harness.clock.advance(by: .seconds(11))
        }
        #expect(harness.requests == 1)
    }

    @Test func `a sign-in presents its grant once and starts a new family`() async throws {
        let store = signedIn()
        let harness = harness(store)
        _ = try await harness.token()
        harness.server.admit(refreshToken: "by-code")
        try await harness.manager.signIn(
            with: TokenGrant(
                type: "refresh_token",
                secretParameters: [.init("refresh_token", Secret("by-code"))]
            )
        )
        #expect(try await harness.token() == "Bearer access-2")
        #expect(store.record?.refreshToken == Secret("refresh-2"))
    }

    @Test func `a sign-in ends the tokens of the previous sign-in, for every audience`()
        async throws
    {
        let store = signedIn()
        let first = harness(store)
        #expect(try await first.token() == "Bearer access-1")
        let other = harness(store, beside: first) { $0.audience = "other" }
        first.server.admit(refreshToken: "somebody-else")
        try await other.manager.signIn(with: .refreshToken(Secret("somebody-else")))
        let restarted = harness(store, beside: first)
        #expect(try await restarted.token() == "Bearer access-3")
        #expect(first.server.requests.last?.form["refresh_token"] == "refresh-2")
    }

    @Test func `whether the server rotates, a sign-in does not tell`() async throws {
        let store = signedIn()
        let harness = harness(store)
        _ = try await harness.token()
        #expect(store.record?.rotates == true)
        harness.server.setExtra(#","refresh_token":"theirs""#)
        let code = TokenGrant.authorizationCode(Secret("c"), redirect: "r", verifier: Secret("v"))
        try await harness.manager.signIn(with: code)
        #expect(store.record?.refreshToken == Secret("theirs"))
        #expect(store.record?.rotates == nil)
    }

    @Test func `a sign-in that fails leaves everything as it was and is not repeated`()
        async throws
    {
        let store = signedIn()
        let harness = harness(store)
        _ = try await harness.token()
        harness.server.script(.lostAnswer)
        let code = TokenGrant(
            type: "authorization_code",
            secretParameters: [.init("code", Secret("c0de"))]
        )
        let error = await networkError { try await harness.manager.signIn(with: code) }
        #expect(error?.kind == .credentialUnavailable)
        #expect(harness.requests == 2)
        #expect(try await harness.token() == "Bearer access-1")
        #expect(store.record?.refreshToken == Secret("refresh-1"))
    }
}
