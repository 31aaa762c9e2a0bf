import NetworkCore
import OAuth
import TestSupport
import Testing

/// Managers and their shared store.
@Suite struct TokenStoreAccessTests {
    private func harness(
        store: (any TokenStoring)? = nil,
        configure: (inout OAuthConfiguration) -> Void = { _ in }
    ) -> OAuthHarness {
        OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            store: store,
            configure: configure
        )
    }

    /// Another manager of the same store: in another process, or in this one after a restart.
    private func companion(
        of first: OAuthHarness,
        configure: (inout OAuthConfiguration) -> Void = { _ in }
    ) -> OAuthHarness {
        OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            clock: first.clock,
            server: first.server,
            store: first.store,
            configure: configure
        )
    }

    @Test func `a stored access token serves after a restart`() async throws {
        let first = harness()
        _ = try await first.token()
        first.clock.advance(by: .seconds(600))
        let second = companion(of: first)
        #expect(try await second.token() == "Bearer access-1")
        #expect(await second.manager.status().expiresIn == .seconds(3000))
        #expect(first.requests == 1)
    }

    @Test func `a clock that was set back does not prolong a stored token`() async throws {
        let first = harness()
        _ = try await first.token()
        first.clock.setWall(by: .seconds(-86_400))
        let second = companion(of: first)
        #expect(try await second.token() == "Bearer access-1")
        let status = await second.manager.status()
        #expect(status.expiresIn == .seconds(3600))
        #expect(status.age == .zero)
    }

    @Test func `a stored token whose successor may be on its way is renewed soon`() async throws {
        let first = harness()
        _ = try await first.token()
        first.server.gate.close()
        async let verdict = first.reject(1)
        #expect(await eventually { first.server.gate.waiting == 1 })
        let left = try #require(try await first.store.load())
        first.server.gate.open()
        #expect(await verdict == .replay)
        let second = OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            clock: first.clock,
            store: MemoryTokenStore(left)
        )
        second.server.admit(refreshToken: "refresh-1")
        #expect(try await second.token() == "Bearer access-1")
        #expect(second.manager.currentCredential() != nil)
        #expect(await eventually { second.requests == 1 })
        #expect(second.server.requests.last?.form["refresh_token"] == "refresh-1")
    }

    /// The properties that an access token depends on.
    enum Difference: CaseIterable {
        case scopes, audience, resources, parameters

        func apply(to configuration: inout OAuthConfiguration) {
            switch self {
            case .scopes: configuration.scopes.append("write")
            case .audience: configuration.audience = "https://other.example.com"
            case .resources: configuration.resources = ["https://other.example.com"]
            case .parameters: configuration.parameters = [FormParameter("tenant", "other")]
            }
        }
    }

    @Test(arguments: Difference.allCases)
    func `a configuration for another token does not get the stored one`(
        difference: Difference
    ) async throws {
        let first = harness()
        _ = try await first.token()
        let second = companion(of: first) { difference.apply(to: &$0) }
        #expect(try await second.token() == "Bearer access-2")
        #expect(first.server.requests.last?.form["refresh_token"] == "refresh-1")
    }

    @Test func `another client's refresh token is not presented`() async throws {
        let first = harness()
        _ = try await first.token()
        let second = OAuthHarness(
            grant: .refreshToken(initial: nil),
            clock: first.clock,
            server: first.server,
            store: first.store
        ) { $0.clientID = "other" }
        #expect(await second.failure()?.kind == .reauthorizationRequired)
        #expect(first.requests == 1)
    }

    @Test func `a token renewed by another manager is adopted`() async throws {
        let first = harness()
        let second = companion(of: first)
        _ = try await first.token()
        _ = try await second.token()
        first.server.revokeAccess()
        #expect(await first.reject(1) == .replay)
        #expect(await second.reject(1) == .replay)
        #expect(try await second.token() == "Bearer access-2")
        #expect(first.requests == 2)
    }

    @Test func `another manager's token at its end does not count as a successor`() async throws {
        let store = WatchedStore()
        let harness = harness(store: store)
        _ = try await harness.token()
        harness.clock.advance(by: .seconds(3295))
        try await harness.manager.lookIntoStore()
        try store.put { $0.accessTokens["scope=read"]?.value = Secret("theirs") }
        harness.clock.advance(by: .seconds(6))
        #expect(harness.manager.currentCredential()?.generation == 1)
        #expect(await eventually { await harness.manager.status().generation == 2 })
        #expect(try await harness.token() == "Bearer access-2")
    }

    @Test func `managers of one family never present a refresh token at the same time`()
        async throws
    {
        let first = harness { $0.audience = "a" }
        let second = companion(of: first) { $0.audience = "b" }
        async let one = first.token()
        async let other = second.token()
        #expect(try await Set([one, other]).count == 2)
        #expect(!first.server.sawReuse)
    }

    @Test func `before a death the store is read once more`() async throws {
        let store = WatchedStore()
        let harness = harness(store: store)
        _ = try await harness.token()
        harness.server.revokeAll()
        harness.server.admit(refreshToken: "signed-in-again")
        // Another tool signs in while the refused token is in transit.
        store.onLoad = { record, count in
            if count >= 2 { record?.refreshToken = Secret("signed-in-again") }
        }
        #expect(await harness.reject(1) == .replay)
        #expect(harness.server.requests.last?.form["refresh_token"] == "signed-in-again")
    }

    @Test func `a sign-in by another tool ends a death`() async throws {
        let store = MemoryTokenStore()
        let harness = harness(store: store)
        _ = try await harness.token()
        harness.server.revokeAll()
        _ = await harness.reject(1)
        #expect(await harness.failure()?.kind == .reauthorizationRequired)
        harness.server.admit(refreshToken: "signed-in-again")
        if var record = store.record {
            record.refreshToken = Secret("signed-in-again")
            let revision = record.revision
            record.revision += 1
            try store.save(record, replacing: revision)
        }
        harness.clock.advance(by: .seconds(6))
        #expect(try await harness.token().hasPrefix("Bearer access-"))
    }

    @Test func `a store that cannot be written does not cost the token`() async throws {
        let store = WatchedStore()
        store.failsSaving = true
        let harness = harness(store: store)
        #expect(try await harness.token() == "Bearer access-1")
        #expect(await harness.manager.status().isUnsaved)
        #expect(await harness.reject(1) == .replay)
        #expect(harness.server.requests.last?.form["refresh_token"] == "refresh-1")
        store.failsSaving = false
        #expect(await eventually { harness.clock.sleepers > 0 })
        harness.clock.advance(by: .seconds(400))
        #expect(await eventually { await !harness.manager.status().isUnsaved })
        #expect(try await store.load()?.refreshToken == Secret("refresh-2"))
    }

    @Test func `an unsaved record is written once more before the process ends`()
        async throws
    {
        let store = WatchedStore()
        store.failsSaving = true
        let harness = harness(store: store)
        #expect(try await harness.token() == "Bearer access-1")
        store.failsSaving = false
        await harness.manager.finishRenewal(until: harness.clock.now)
        #expect(await !harness.manager.status().isUnsaved)
        #expect(store.record?.refreshToken == Secret("refresh-1"))
    }

    @Test func `a store that cannot be written is tried every 15 seconds, and reported once`()
        async throws
    {
        let store = WatchedStore()
        store.failsSaving = true
        let harness = harness(store: store)
        _ = try await harness.token()
        var failures: Int {
            harness.events.count { if case .storeFailed = $0 { true } else { false } }
        }
        #expect(failures == 1)
        let looks = Counter()
        store.onLoad = { _, _ in _ = looks.next() }
        #expect(await eventually { harness.clock.sleepers == 1 })
        // After 1, 2, 4, 8 and then every 15 seconds.
        for _ in 0..<105 {
            harness.clock.advance(by: .seconds(1))
            #expect(await eventually { harness.clock.sleepers == 1 })
        }
        #expect(looks.next() == 11)
        #expect(failures == 1)
    }

    @Test func `a new refresh token in the configuration replaces the stored one`() async throws {
        let first = harness()
        _ = try await first.token()
        first.server.admit(refreshToken: "operator")
        let second = OAuthHarness(
            grant: .refreshToken(initial: Secret("operator")),
            clock: first.clock,
            server: first.server,
            store: first.store
        )
        _ = try await second.token()
        #expect(first.server.requests.last?.form["refresh_token"] == "operator")
    }

    @Test func `two channels with one login each get a token of their own audience`() async throws {
        let clock = ManualClock()
        let server = AuthorizationServerModel(clock: clock)
        let store = MemoryTokenStore()
        func harness(_ audience: String) -> OAuthHarness {
            OAuthHarness(
                grant: .refreshToken(initial: Secret("initial")),
                clock: clock,
                server: server,
                store: store
            ) { $0.audience = audience }
        }
        let (one, other) = (harness("one"), harness("other"))
        async let first = one.token()
        async let second = other.token()
        #expect(try await first != second)
        #expect(server.requests.count == 2)
        #expect(!server.sawReuse)
    }
}
