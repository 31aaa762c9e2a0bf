import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

/// Rotated tokens that the store does not hold.
@Suite struct UnsavedTokenTests {
    private func harness(
        _ store: any TokenStoring,
        beside other: OAuthHarness? = nil,
        configure: (inout OAuthConfiguration) -> Void = { _ in }
    ) -> OAuthHarness {
        OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            clock: other?.clock ?? ManualClock(),
            server: other?.server,
            store: store,
            configure: configure
        )
    }

    /// Renews the first token; the result is not saved.
    private func renewUnsaved(_ harness: OAuthHarness, _ store: WatchedStore) async throws {
        _ = try await harness.token()
        harness.server.gate.close()
        async let verdict = harness.reject(1)
        #expect(await eventually { harness.server.gate.waiting == 1 })
        store.failsSaving = true
        harness.server.gate.open()
        #expect(await verdict == .replay)
        #expect(await harness.manager.status().isUnsaved)
        store.failsSaving = false
    }

    private final class End: Sendable {
        let isReached = Atomic(false)
    }

    /// Returns the result of a call that waits for the lock while another manager keeps it.
    private func whileTimePasses<Result: Sendable>(
        _ clock: ManualClock,
        _ call: @escaping @Sendable () async -> Result
    ) async -> Result {
        let end = End()
        let result = Task {
            defer { end.isReached.store(true, ordering: .relaxed) }
            return await call()
        }
        _ = await eventually {
            clock.advance(by: .seconds(1))
            return end.isReached.load(ordering: .relaxed)
        }
        return await result.value
    }

    @Test func `a file that turns corrupt while the process runs costs nothing`() async throws {
        let directory = try TokenDirectory()
        let store = FileTokenStore(directory: directory.path, family: "orders")
        let harness = harness(store)
        _ = try await harness.token()
        try directory.write("{", to: "orders.json")
        #expect(await harness.reject(1) == .replay)
        #expect(harness.server.requests.last?.form["refresh_token"] == "refresh-1")
        #expect(!harness.server.sawReuse)
        #expect(try await store.load()?.refreshToken == Secret("refresh-2"))
        #expect(try directory.names.contains { $0.contains("corrupt-") })
    }

    @Test func `a corrupt file is rewritten without a token request`() async throws {
        let directory = try TokenDirectory()
        let store = FileTokenStore(directory: directory.path, family: "orders")
        let harness = harness(store)
        _ = try await harness.token()
        try directory.write("{", to: "orders.json")
        try await harness.manager.lookIntoStore()
        _ = await eventually {
            harness.clock.advance(by: .seconds(1))
            return await !harness.manager.status().isUnsaved
        }
        #expect(try await store.load()?.refreshToken == Secret("refresh-1"))
        #expect(harness.requests == 1)
    }

    @Test func `an unsaved record survives a failed renewal elsewhere`() async throws {
        let store = WatchedStore()
        let harness = harness(store)
        try await renewUnsaved(harness, store)
        let other = self.harness(store, beside: harness) { $0.audience = "other" }
        harness.server.script(.respond(503, #"{"error":"temporarily_unavailable"}"#, [:]))
        // It waits for the lock until the record is written.
        let failure = Task { await other.failure()?.kind }
        _ = await eventually {
            harness.clock.advance(by: .seconds(1))
            return await !harness.manager.status().isUnsaved
        }
        #expect(await failure.value == .credentialUnavailable)
        #expect(store.record?.refreshToken == Secret("refresh-2"))
        #expect(await harness.reject(2) == .replay)
        #expect(harness.server.requests.last?.form["refresh_token"] == "refresh-2")
        #expect(store.record?.refreshToken == Secret("refresh-3"))
        #expect(!harness.server.sawReuse)
    }

    @Test func `an unsaved record goes to the successor`() async throws {
        let store = WatchedStore()
        let harness = harness(store)
        try await renewUnsaved(harness, store)
        store.failsSaving = true
        let next = self.harness(store, beside: harness)
        await next.manager.takeOver(from: harness.manager)
        await next.manager.start()
        #expect(try await next.token() == harness.token())
        let verdict = await whileTimePasses(next.clock) { await next.reject(1) }
        #expect(verdict == .replay)
        #expect(harness.server.requests.last?.form["refresh_token"] == "refresh-2")
        // Its refresh token is spent by now, and the successor keeps the lock.
        let count = harness.requests
        let refusal = await whileTimePasses(next.clock) { await harness.reject(2) }
        #expect(refusal == .passThrough(.waitTimeout))
        #expect(harness.requests == count)
        store.failsSaving = false
        let isWritten = await eventually {
            next.clock.advance(by: .seconds(1))
            return await !next.manager.status().isUnsaved
        }
        #expect(isWritten)
        #expect(store.record?.refreshToken == Secret("refresh-3"))
        #expect(!harness.server.sawReuse)
    }

    @Test func `forgotten tokens do not come back from the predecessor`() async throws {
        let store = WatchedStore()
        store.failsSaving = true
        let harness = harness(store)
        _ = try await harness.token()
        let next = self.harness(store, beside: harness)
        await next.manager.takeOver(from: harness.manager)
        try await next.manager.forget()
        await next.manager.start()
        #expect(next.manager.currentCredential() == nil)
        #expect(await !next.manager.status().hasRefreshToken)
    }

    @Test func `a manager with another seed takes over nothing`() async throws {
        let store = WatchedStore()
        let harness = harness(store)
        try await renewUnsaved(harness, store)
        store.failsSaving = true
        let next = OAuthHarness(
            grant: .refreshToken(initial: Secret("another")),
            clock: harness.clock,
            server: harness.server,
            store: store
        )
        await next.manager.takeOver(from: harness.manager)
        await next.manager.start()
        #expect(next.manager.currentCredential() == nil)
        #expect(await !next.manager.status().isUnsaved)
    }

    @Test func `another attempt to write keeps the unsaved record, too`() async throws {
        let store = WatchedStore()
        let harness = harness(store)
        try await renewUnsaved(harness, store)
        try store.put { $0.accessTokens["audience=other"] = nil }
        _ = await eventually {
            harness.clock.advance(by: .seconds(1))
            return await !harness.manager.status().isUnsaved
        }
        #expect(store.record?.refreshToken == Secret("refresh-2"))
    }

    @Test func `a sign-in elsewhere wins over an unsaved record`() async throws {
        let store = WatchedStore()
        let harness = harness(store)
        try await renewUnsaved(harness, store)
        harness.server.admit(refreshToken: "somebody-else")
        try store.put {
            $0.refreshToken = Secret("somebody-else")
            $0.accessTokens = [:]
        }
        #expect(await harness.reject(2) == .replay)
        #expect(harness.server.requests.last?.form["refresh_token"] == "somebody-else")
    }

    @Test func `a sign-out elsewhere wins over an unsaved record`() async throws {
        let store = WatchedStore()
        let harness = harness(store)
        try await renewUnsaved(harness, store)
        try store.signOut()
        #expect(await harness.reject(2) == .passThrough(.reauthorizationRequired))
        // It is spent; a user may force another attempt.
        harness.server.admit(refreshToken: "initial")
        try await harness.manager.forceRefresh()
        #expect(harness.server.requests.last?.form["refresh_token"] == "initial")
    }

    /// A user signs in without the lock while a renewal of ours is being stored.
    private func signInBetween(_ store: WatchedStore, accessToken: Bool) {
        store.onSave = { record in
            guard record.refreshToken == Secret("refresh-2"), record.intent == nil else { return }
            store.onSave = nil
            try? store.put {
                $0.refreshToken = Secret("theirs")
                if accessToken {
                    $0.accessTokens["scope=read"]?.value = Secret("outside")
                } else {
                    $0.accessTokens = [:]
                }
            }
        }
    }

    private func generationsStored(_ harness: OAuthHarness) -> [Int] {
        harness.events.compactMap {
            if case .stored(let generation) = $0 { generation } else { nil }
        }
    }

    @Test func `a sign-in during a renewal is in force at once`() async throws {
        let store = WatchedStore()
        let harness = harness(store)
        _ = try await harness.token()
        signInBetween(store, accessToken: true)
        #expect(await harness.reject(1) == .replay)
        #expect(try await harness.token() == "Bearer outside")
        #expect(store.record?.refreshToken == Secret("theirs"))
        #expect(generationsStored(harness) == [1])
        #expect(harness.requests == 2)
    }

    @Test func `the next token comes from a sign-in during a renewal`() async throws {
        let store = WatchedStore()
        let harness = harness(store)
        _ = try await harness.token()
        harness.server.admit(refreshToken: "theirs")
        signInBetween(store, accessToken: false)
        #expect(await harness.reject(1) == .replay)
        #expect(try await harness.token() == "Bearer access-3")
        #expect(harness.server.requests.last?.form["refresh_token"] == "theirs")
        #expect(store.record?.refreshToken == Secret("refresh-3"))
    }

    @Test func `a sign-in here wins over an earlier one elsewhere`() async throws {
        let store = WatchedStore()
        let harness = harness(store)
        _ = try await harness.token()
        signInBetween(store, accessToken: true)
        harness.server.admit(refreshToken: "by-code")
        let code = TokenGrant(
            type: "refresh_token",
            secretName: "refresh_token",
            secret: Secret("by-code")
        )
        try await harness.manager.signIn(with: code)
        #expect(try await harness.token() == "Bearer access-2")
        #expect(store.record?.refreshToken == Secret("refresh-2"))
    }

    @Test func `a refresh token that has been replaced is not presented`() async throws {
        let store = WatchedStore()
        let harness = harness(store)
        _ = try await harness.token()
        harness.server.admit(refreshToken: "theirs")
        store.onSave = { record in
            guard record.intent != nil else { return }
            store.onSave = nil
            try? store.put {
                $0.refreshToken = Secret("theirs")
                $0.accessTokens = [:]
            }
        }
        #expect(await harness.reject(1) == .replay)
        #expect(try await harness.token() == "Bearer access-2")
        #expect(harness.server.requests.map { $0.form["refresh_token"] } == ["initial", "theirs"])
    }
}
