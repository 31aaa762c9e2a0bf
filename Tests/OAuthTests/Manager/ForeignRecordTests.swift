import NetworkCore
import OAuth
import TestSupport
import Testing

/// A store with the tokens of another client, as after a mistake in the configuration.
@Suite struct ForeignRecordTests {
    private func harness(
        _ store: any TokenStoring,
        client: String = "client",
        beside other: OAuthHarness? = nil
    ) -> OAuthHarness {
        OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            clock: other?.clock ?? ManualClock(),
            server: other?.server,
            store: store
        ) {
            $0.clientID = client
            $0.lostResponse = .wait
        }
    }

    @Test(
        arguments: [
            .unreachable, .respond(401, #"{"error":"invalid_client"}"#, [:]),
            .respond(400, #"{"error":"invalid_grant"}"#, [:]), .respond(502, "", [:]),
            .respond(200, "", [:]), .respond(200, #"{"refresh_token":"stray"}"#, [:]),
        ] as [AuthorizationServerModel.Mishap]
    )
    func `a slip in the configuration costs no stored token`(
        mishap: AuthorizationServerModel.Mishap
    ) async throws {
        let store = MemoryTokenStore()
        let right = harness(store)
        _ = try await right.token()
        let stored = try #require(store.record)
        let wrong = harness(store, client: "cleint", beside: right)
        right.server.script(mishap)
        #expect(await wrong.failure() != nil)
        right.clock.advance(by: .seconds(400))
        #expect(store.record == stored)
        let again = harness(store, beside: right)
        right.clock.advance(by: .seconds(3600))
        _ = try await again.token()
        #expect(right.server.requests.last?.form["refresh_token"] == "refresh-1")
        #expect(!right.server.sawReuse)
    }

    @Test func `the client's own token is not that of a person, nor the other way round`()
        async throws
    {
        let store = MemoryTokenStore()
        let client = OAuthHarness(store: store)
        #expect(try await client.token() == "Bearer access-1")
        func person(_ initial: Secret?) -> OAuthHarness {
            OAuthHarness(
                grant: .refreshToken(initial: initial),
                clock: client.clock,
                server: client.server,
                store: store
            )
        }
        #expect(await person(nil).failure()?.kind == .reauthorizationRequired)
        #expect(try await person(Secret("initial")).token() == "Bearer access-2")
        let again = OAuthHarness(clock: client.clock, server: client.server, store: store)
        #expect(try await again.token() == "Bearer access-1")
        #expect(try await person(Secret("initial")).token() == "Bearer access-2")
    }

    @Test func `a dead token is not presented again, though that cannot be stored`() async throws {
        let store = MemoryTokenStore()
        let right = harness(store)
        _ = try await right.token()
        let wrong = harness(store, client: "cleint", beside: right)
        right.server.script(.respond(400, #"{"error":"invalid_grant"}"#, [:]))
        for _ in 0..<10 {
            #expect(await wrong.failure()?.kind == .reauthorizationRequired)
            right.clock.advance(by: .seconds(7))
        }
        #expect(right.requests == 2)
        #expect(store.record?.quarantine == nil)
    }

    @Test func `tokens in hand take the place of another client's`() async throws {
        let store = MemoryTokenStore()
        let right = harness(store)
        _ = try await right.token()
        right.server.admit(refreshToken: "initial")
        let other = harness(store, client: "other", beside: right)
        #expect(try await other.token() == "Bearer access-2")
        #expect(store.record?.authority.hasPrefix("other@") == true)
        #expect(store.record?.refreshToken == Secret("refresh-2"))
        #expect(await !other.manager.status().isUnsaved)
    }

    @Test func `tokens in hand that could not be saved take that place later`() async throws {
        let store = WatchedStore()
        let right = harness(store)
        _ = try await right.token()
        right.server.admit(refreshToken: "initial")
        let other = harness(store, client: "other", beside: right)
        store.failsSaving = true
        #expect(try await other.token() == "Bearer access-2")
        store.failsSaving = false
        _ = await eventually {
            right.clock.advance(by: .seconds(1))
            return await !other.manager.status().isUnsaved
        }
        #expect(store.record?.refreshToken == Secret("refresh-2"))
    }

    @Test func `a client that takes over in the meantime is not overwritten by a note`()
        async throws
    {
        let store = WatchedStore()
        let harness = harness(store)
        _ = try await harness.token()
        store.failsSaving = true
        harness.server.script(.respond(503, "", [:]))
        #expect(await harness.reject(1) == .passThrough(.refreshFailed))
        #expect(await harness.manager.status().isUnsaved)
        store.failsSaving = false
        try store.put { $0 = TokenRecord(authority: "other@https://login.example.com/token") }
        let theirs = try #require(store.record)
        _ = await eventually {
            harness.clock.advance(by: .seconds(1))
            return await !harness.manager.status().isUnsaved
        }
        #expect(store.record == theirs)
        harness.clock.advance(by: .seconds(60))
        #expect(await harness.reject(1) == .replay)
        #expect(harness.server.requests.last?.form["refresh_token"] == "refresh-1")
    }
}
