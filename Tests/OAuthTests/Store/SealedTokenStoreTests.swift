import NetworkCore
import OAuth
import TestSupport
import Testing

/// Sealed token files.
@Suite struct SealedTokenStoreTests {
    private let directory: TokenDirectory
    private let key = Secret("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    private let other = Secret("//ECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")

    init() throws { directory = try TokenDirectory() }

    private func store(_ key: Secret?) throws -> FileTokenStore {
        FileTokenStore(
            directory: directory.path,
            family: "orders",
            seal: try key.map { try TokenSeal(base64: $0) }
        )
    }

    @Test func `a record is read back, and its file does not show it`() async throws {
        let record = TokenRecord.forTests(1, refresh: "c4nary")
        try await store(key).save(record, replacing: 0)
        #expect(try await store(key).load() == record)
        let text = try directory.text(of: "orders.json")
        #expect(!text.contains("c4nary"))
        #expect(!text.contains("login.example.com"))
        #expect(text.contains("AES-256-GCM"))
    }

    @Test func `a plain file is read, and sealed by the next save`() async throws {
        try await store(nil).save(.forTests(1, refresh: "c4nary"), replacing: 0)
        #expect(try await store(key).load()?.refreshToken?.reveal() == "c4nary")
        try await store(key).save(.forTests(2, refresh: "c4nary"), replacing: 1)
        #expect(try !directory.text(of: "orders.json").contains("c4nary"))
    }

    @Test func `a file that does not open is neither set aside nor overwritten nor removed`()
        async throws
    {
        try await store(key).save(.forTests(1), replacing: 0)
        let before = try directory.text(of: "orders.json")
        for wrong in [other, nil] {
            let store = try store(wrong)
            let clock = SystemClock()
            let lock = try await store.lock(until: clock.now + .seconds(10), clock: clock)
            await #expect(throws: TokenStoreError.self) { try await store.load(under: lock) }
            await #expect(throws: TokenStoreError.self) {
                try await store.save(.forTests(1), replacing: 0)
            }
            lock.release()
        }
        #expect(try directory.text(of: "orders.json") == before)
        #expect(try directory.names == ["orders.json", "orders.lock"])
        #expect(try await store(key).load() == .forTests(1))
    }

    @Test func `a file sealed with another key is not a disk failure`() async throws {
        try await store(key).save(.forTests(1), replacing: 0)
        for wrong in [other, nil] {
            await #expect {
                try await store(wrong).load()
            } throws: { error in
                if case TokenStoreError.unreadable = error { true } else { false }
            }
        }
    }

    @Test
    func `a manager presents no token that the holder of another key may have replaced`()
        async throws
    {
        let harness = OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            store: try store(key)
        )
        #expect(try await harness.token() == "Bearer access-1")
        let elsewhere = try SealedTokenStoreTests()
        try await elsewhere.store(other).save(.forTests(1), replacing: 0)
        try directory.write(elsewhere.directory.text(of: "orders.json"), to: "orders.json")
        let error = await networkError { try await harness.manager.forceRefresh() }
        #expect(error?.detail.contains("another state_key") == true)
        #expect(try await harness.token() == "Bearer access-1")
        #expect(harness.requests == 1)
    }

    @Test func `a manager without the right key reports that and presents nothing`() async throws {
        try await store(key).save(.forTests(1), replacing: 0)
        let harness = OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            store: try store(other)
        )
        let failure = await harness.failure()
        #expect(failure?.detail.contains("another state_key") == true)
        #expect(harness.requests == 0)
    }
}
