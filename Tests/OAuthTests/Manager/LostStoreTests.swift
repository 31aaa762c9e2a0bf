import FoundationEssentials
import NetworkCore
import OAuth
import TestSupport
import Testing

/// A medium that fails or loses its content does not count as a sign-out.
@Suite struct LostStoreTests {
    private func harness(_ store: any TokenStoring) -> OAuthHarness {
        OAuthHarness(grant: .refreshToken(initial: Secret("initial")), store: store) {
            $0.lostResponse = .wait
        }
    }

    /// Waits until the unsaved record is saved.
    private func untilSaved(_ harness: OAuthHarness) async -> Bool {
        await eventually {
            harness.clock.advance(by: .seconds(1))
            return await !harness.manager.status().isUnsaved
        }
    }

    @Test func `tokens survive a medium that fails and then has nothing`() async throws {
        let store = WatchedStore()
        let harness = harness(store)
        _ = try await harness.token()
        store.fault = .unavailable("open tokens.json: Input/output error")
        #expect(await harness.reject(1) == .passThrough(.refreshFailed))
        store.lose()
        store.fault = nil
        harness.clock.advance(by: .seconds(11))
        #expect(await harness.reject(1) == .replay)
        #expect(harness.server.requests.last?.form["refresh_token"] == "refresh-1")
        #expect(store.record?.refreshToken == Secret("refresh-2"))
        #expect(!harness.server.sawReuse)
    }

    @Test func `a sign-out counts even while the disk is full`() async throws {
        let store = WatchedStore()
        let harness = harness(store)
        _ = try await harness.token()
        store.failsSaving = true
        #expect(await harness.reject(1) == .replay)
        // The lock stays with the manager that has the newest tokens, and no other process can sign out.
        try store.signOut()
        store.failsSaving = false
        #expect(await untilSaved(harness))
        #expect(store.record?.signedOutAt != nil)
    }

    @Test func `tokens are written again within seconds of the medium's return`() async throws {
        let store = WatchedStore()
        let harness = harness(store)
        _ = try await harness.token()
        store.failsSaving = true
        #expect(await harness.reject(1) == .replay)
        for _ in 0..<600 {
            harness.clock.advance(by: .seconds(1))
            await Task.yield()
        }
        store.failsSaving = false
        // The attempt in progress may have saved them already: then no task sleeps any more.
        _ = await eventually {
            if harness.clock.sleepers > 0 { return true }
            return await !harness.manager.status().isUnsaved
        }
        let saved = await eventually {
            harness.clock.advance(by: .seconds(15))
            return await !harness.manager.status().isUnsaved
        }
        #expect(saved)
    }

    @Test func `a removed directory gets its tokens back at the next check`()
        async throws
    {
        let directory = try TokenDirectory()
        let path = "\(directory.path)/state"
        let harness = harness(FileTokenStore(directory: path, family: "orders"))
        #expect(try await harness.token() == "Bearer access-1")
        try FileManager.default.removeItem(atPath: path)
        harness.clock.advance(by: .seconds(11))
        #expect(try await harness.token() == "Bearer access-1")
        #expect(await eventually { await harness.manager.status().isUnsaved })
        #expect(harness.manager.isSignedIn)
        #expect(await untilSaved(harness))
        let stored = try await FileTokenStore(directory: path, family: "orders").load()
        #expect(stored?.refreshToken == Secret("refresh-1"))
    }

    @Test func `a renewal after the removal presents the token in memory`() async throws {
        let directory = try TokenDirectory()
        let path = "\(directory.path)/state"
        let harness = harness(FileTokenStore(directory: path, family: "orders"))
        _ = try await harness.token()
        try FileManager.default.removeItem(atPath: path)
        harness.server.revokeAccess()
        #expect(await harness.reject(1) == .replay)
        #expect(harness.server.requests.last?.form["refresh_token"] == "refresh-1")
        #expect(!harness.server.sawReuse)
        let stored = try await FileTokenStore(directory: path, family: "orders").load()
        #expect(stored?.refreshToken == Secret("refresh-2"))
    }

    @Test func `a file removed beside its lock is not a sign-out, a command is`() async throws {
        let directory = try TokenDirectory()
        let store = FileTokenStore(directory: directory.path, family: "orders")
        let harness = harness(store)
        _ = try await harness.token()
        try FileManager.default.removeItem(atPath: "\(directory.path)/orders.json")
        harness.clock.advance(by: .seconds(11))
        _ = harness.manager.currentCredential()
        #expect(await eventually { harness.reported.contains(.lost) })
        #expect(await untilSaved(harness))
        #expect(try await store.load()?.refreshToken == Secret("refresh-1"))
        try await store.forgetSignIn()
        harness.clock.advance(by: .seconds(11))
        _ = harness.manager.currentCredential()
        #expect(await eventually { harness.manager.currentCredential() == nil })
        #expect(await harness.failure()?.kind == .reauthorizationRequired)
    }

    @Test func `a lost record is written again and reported, and the token stays in force`()
        async throws
    {
        let store = WatchedStore()
        let harness = harness(store)
        _ = try await harness.token()
        let revision = try #require(store.record).revision
        store.lose()
        harness.clock.advance(by: .seconds(11))
        #expect(try await harness.token() == "Bearer access-1")
        #expect(await eventually { harness.reported.contains(.lost) })
        #expect(await untilSaved(harness))
        #expect(store.record?.refreshToken == Secret("refresh-1"))
        #expect(try #require(store.record).revision > revision)
        #expect(harness.manager.currentCredential() != nil)
    }
}

extension OAuthHarness {
    /// The faults of the store that the manager has reported.
    var reported: [StoreFault] {
        events.compactMap { if case .storeFailed(let fault, _) = $0 { fault } else { nil } }
    }
}
