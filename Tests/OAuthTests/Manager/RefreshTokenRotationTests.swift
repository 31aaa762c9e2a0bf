import NetworkCore
import OAuth
import TestSupport
import Testing

@Suite struct RefreshTokenRotationTests {
    private func harness(
        grace: Duration = .zero,
        store: (any TokenStoring)? = nil,
        configure: (inout OAuthConfiguration) -> Void = { _ in }
    ) -> OAuthHarness {
        OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            grace: grace,
            store: store,
            configure: configure
        )
    }

    @Test func `a rotated refresh token is presented next time`() async throws {
        let harness = harness()
        _ = try await harness.token()
        #expect(await harness.reject(1) == .replay)
        #expect(
            harness.server.requests.map { $0.form["refresh_token"] } == ["initial", "refresh-1"]
        )
        #expect(!harness.server.sawReuse)
    }

    @Test func `a refresh requests no scope`() async throws {
        let harness = harness()
        _ = try await harness.token()
        #expect(harness.server.requests[0].form["scope"] == nil)
    }

    @Test func `the granted scope stays, unless a refresh changes it`() async throws {
        let store = MemoryTokenStore()
        let harness = harness(store: store)
        func granted() -> [String?] { store.record?.accessTokens.values.map(\.scope) ?? [] }
        harness.server.setExtra(#","scope":"read some""#)
        _ = try await harness.token()
        harness.server.setExtra("")
        #expect(await harness.reject(1) == .replay)
        #expect(granted() == ["read some"])
        harness.server.setExtra(#","scope":"read none""#)
        #expect(await harness.reject(2) == .replay)
        #expect(granted() == ["read none"])
    }

    @Test func `a server that does not rotate keeps its refresh token`() async throws {
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")), rotates: false)
        _ = try await harness.token()
        #expect(await harness.reject(1) == .replay)
        #expect(harness.server.requests.map { $0.form["refresh_token"] } == ["initial", "initial"])
    }

    @Test func `the new refresh token is stored before anybody uses the new access token`()
        async throws
    {
        let store = WatchedStore()
        let harness = harness(store: store)
        store.onSave = { [manager = harness.manager] record in
            #expect(manager.currentCredential() == nil)
            _ = record
        }
        _ = try await harness.token()
        #expect(try await store.load()?.refreshToken == Secret("refresh-1"))
    }

    @Test func `a refusal that cannot have spent the refresh token leaves no note`() async throws {
        let harness = harness()
        harness.server.script(.respond(401, #"{"error":"invalid_client"}"#, [:]))
        #expect(await harness.failure()?.kind == .credentialUnavailable)
        let record = try #require(try await harness.store.load())
        #expect(record.intent == nil)
    }

    @Test(arguments: [502, 504])
    func `an error of a gateway may have spent the refresh token`(status: Int) async throws {
        let harness = harness()
        harness.server.script(.respond(status, "", [:]))
        #expect(await harness.failure()?.kind == .credentialUnavailable)
        #expect(try await harness.store.load()?.intent != nil)
    }

    @Test func `a lost response stays noted until another one arrives`() async throws {
        let harness = harness { $0.lostResponse = .wait }
        harness.server.script(.lostAnswer, .respond(401, #"{"error":"invalid_client"}"#, [:]))
        for _ in 0..<2 {
            #expect(await harness.failure()?.kind == .credentialUnavailable)
            #expect(try await harness.store.load()?.intent != nil)
            harness.clock.advance(by: .seconds(120))
        }
        let error = await harness.failure()
        #expect(error?.kind == .reauthorizationRequired)
        #expect(error?.detail.contains("an earlier answer was lost") == true)
    }

    @Test func `a response lost too late is not requested again`() async throws {
        let harness = harness()
        harness.server.script(.lostAnswer)
        harness.server.gate.close()
        let caller = Task { await harness.failure() }
        #expect(await eventually { harness.server.gate.waiting == 1 })
        harness.clock.advance(by: .seconds(31))
        harness.server.gate.open()
        _ = await caller.value
        #expect(await eventually { await harness.manager.status().state == .failed })
        #expect(harness.requests == 1)
        #expect(!harness.server.sawReuse)
    }

    @Test func `a refresh token is announced before it is presented`() async throws {
        let harness = harness()
        harness.server.gate.close()
        async let token = harness.token()
        #expect(await eventually { harness.server.gate.waiting == 1 })
        #expect(try await harness.store.load()?.intent?.attempts == 1)
        harness.server.gate.open()
        _ = try await token
        #expect(try await harness.store.load()?.intent == nil)
    }

    @Test func `nothing is announced for a server that leaves the refresh token in force`()
        async throws
    {
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")), rotates: false)
        _ = try await harness.token()
        harness.server.gate.close()
        async let verdict = harness.reject(1)
        #expect(await eventually { harness.server.gate.waiting == 1 })
        #expect(try await harness.store.load()?.intent == nil)
        harness.server.gate.open()
        #expect(await verdict == .replay)
    }

    @Test func `a lost response is requested again within the grace window`() async throws {
        let harness = harness(grace: .seconds(30))
        harness.server.script(.lostAnswer)
        #expect(try await harness.token() == "Bearer access-1")
        #expect(harness.server.requests.map { $0.form["refresh_token"] } == ["initial", "initial"])
        #expect(!harness.server.sawReuse)
        #expect(await harness.reject(1) == .replay)
    }

    @Test func `an empty response counts as lost`() async throws {
        let harness = harness(grace: .seconds(30))
        harness.server.script(.answerInstead(200, ""))
        #expect(try await harness.token() == "Bearer access-1")
    }

    @Test func `the message of a death after a lost response says so`() async throws {
        // The server has no grace period: the repetition counts as reuse.
        let harness = harness(grace: .seconds(-1))
        harness.server.script(.lostAnswer)
        let error = await harness.failure()
        #expect(error?.kind == .reauthorizationRequired)
        #expect(error?.detail.contains("an earlier answer was lost") == true)
        #expect(harness.requests == 2)
    }

    @Test func `a lost response is not requested again if the configuration forbids it`()
        async throws
    {
        let harness = harness(grace: .seconds(30)) { $0.lostResponse = .wait }
        harness.server.script(.lostAnswer)
        #expect(await harness.failure()?.kind == .credentialUnavailable)
        #expect(harness.requests == 1)
    }

    @Test func `an interrupted renewal is settled at start`() async throws {
        let clock = ManualClock()
        let server = AuthorizationServerModel(clock: clock, grace: .seconds(60))
        let store = MemoryTokenStore()
        let first = OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            clock: clock,
            server: server,
            store: store
        ) { $0.lostResponse = .wait }
        server.script(.lostAnswer)
        _ = await first.failure()
        #expect(store.record?.intent != nil)
        let second = OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            clock: clock,
            server: server,
            store: store
        )
        await second.manager.start()
        #expect(second.manager.currentCredential() != nil)
        #expect(server.requests.count == 2)
        #expect(!server.sawReuse)
    }

    @Test func `start sends nothing if no renewal is open`() async throws {
        let harness = harness()
        await harness.manager.start()
        #expect(harness.requests == 0)
        #expect(try await harness.token() == "Bearer access-1")
    }
}
