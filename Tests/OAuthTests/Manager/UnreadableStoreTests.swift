import NetworkCore
import OAuth
import TestSupport
import Testing

/// Stores that cannot be read while a manager knows their record.
@Suite struct UnreadableStoreTests {
    private let store = WatchedStore()
    private static let sealed = TokenStoreError.unreadable("it is sealed with another state_key")
    private static let broken = TokenStoreError.unavailable("read tokens.json: Input/output error")

    private func harness(
        _ grant: OAuthConfiguration.Grant = .refreshToken(initial: Secret("initial"))
    ) -> OAuthHarness {
        OAuthHarness(grant: grant, store: store)
    }

    @Test func `a refresh token that another may have replaced is not presented`() async throws {
        let harness = harness()
        _ = try await harness.token()
        store.fault = Self.sealed
        let error = await networkError { try await harness.manager.forceRefresh() }
        #expect(error?.kind == .credentialUnavailable)
        #expect(error?.detail.contains("another state_key") == true)
        #expect(harness.requests == 1)
        // The token in force is still good.
        #expect(try await harness.token() == "Bearer access-1")
        #expect(await harness.reject(1) == .passThrough(.refreshFailed))
        #expect(harness.requests == 1)
    }

    @Test func `a refresh token of another process is presented as soon as it can be read`()
        async throws
    {
        let harness = harness()
        _ = try await harness.token()
        harness.server.admit(refreshToken: "theirs")
        try store.put { $0.refreshToken = Secret("theirs") }
        store.fault = Self.sealed
        harness.clock.advance(by: .seconds(3301))
        #expect(try await harness.token() == "Bearer access-1")
        #expect(await eventually { await harness.manager.status().lastFailure != nil })
        store.fault = nil
        harness.clock.advance(by: .seconds(2))
        #expect(try await harness.token() == "Bearer access-1")
        #expect(await eventually { harness.manager.currentCredential()?.generation == 2 })
        #expect(
            harness.server.requests.map { $0.form["refresh_token"] } == ["initial", "theirs"]
        )
    }

    /// The steps at which a store may fail before a refresh token is presented.
    enum Step: CaseIterable, Sendable {
        case locking, reading
    }

    @Test(arguments: Step.allCases)
    func `a refresh token is presented only if it was just read under the lock`(step: Step)
        async throws
    {
        let harness = harness()
        _ = try await harness.token()
        switch step {
        case .locking: store.lacksLock = true
        case .reading: store.fault = Self.broken
        }
        let error = await networkError { try await harness.manager.forceRefresh() }
        #expect(error?.kind == .credentialUnavailable)
        #expect(error?.retryAfter != nil)
        #expect(harness.requests == 1)
        #expect(await harness.manager.status().storeFault == .unavailable)
        store.lacksLock = false
        store.fault = nil
        try await harness.manager.forceRefresh()
        #expect(harness.server.requests.last?.form["refresh_token"] == "refresh-1")
        #expect(await harness.manager.status().storeFault == nil)
    }

    @Test func `the lock stays until the successor of a presented token is stored`() async throws {
        let first = harness()
        _ = try await first.token()
        let second = OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            clock: first.clock,
            server: first.server,
            store: store
        )
        _ = try await second.token()
        store.failsSaving = true
        #expect(await first.reject(1) == .replay)
        #expect(await first.manager.status().isUnsaved)
        // The stored refresh token is spent, and another process cannot present it.
        let waiting = Task { await second.reject(1) }
        #expect(await eventually { first.clock.sleepers > 2 })
        #expect(first.requests == 2)
        store.failsSaving = false
        _ = await eventually {
            first.clock.advance(by: .seconds(1))
            return await !first.manager.status().isUnsaved
        }
        #expect(await waiting.value == .replay)
        #expect(try await second.token() == "Bearer access-2")
        #expect(first.requests == 2)
        // A manager that has not stored its tokens renews under the lock that it has.
        store.failsSaving = true
        #expect(await first.reject(2) == .replay)
        #expect(await first.reject(3) == .replay)
        #expect(first.server.requests.last?.form["refresh_token"] == "refresh-3")
        #expect(!first.server.sawReuse)
    }

    @Test func `a token that cannot be saved is not renewed early`() async throws {
        let harness = harness()
        _ = try await harness.token()
        store.failsSaving = true
        // The token is stale, but still good.
        harness.clock.advance(by: .seconds(3301))
        #expect(try await harness.token() == "Bearer access-1")
        #expect(await eventually { await harness.manager.status().lastFailure != nil })
        #expect(harness.requests == 1)
        #expect(store.record?.intent == nil)
        // After its end the renewal cannot wait.
        harness.clock.advance(by: .seconds(300))
        #expect(try await harness.token() == "Bearer access-2")
        #expect(harness.requests == 2)
    }

    @Test func `a new manager takes a stored token while another has the lock`() async throws {
        let first = harness()
        _ = try await first.token()
        store.failsLocking = true
        let second = OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            clock: first.clock,
            server: first.server,
            store: store
        )
        #expect(try await second.token() == "Bearer access-1")
        #expect(first.requests == 1)
    }

    @Test(arguments: [sealed, broken])
    func `the client's own credentials need no store`(fault: TokenStoreError) async throws {
        store.fault = fault
        let harness = harness(.clientCredentials)
        #expect(try await harness.token() == "Bearer access-1")
        try await harness.manager.forceRefresh()
        #expect(try await harness.token() == "Bearer access-2")
    }
}
