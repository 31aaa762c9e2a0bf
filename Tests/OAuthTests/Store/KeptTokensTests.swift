import Foundation
import NetworkCore
import NetworkTesting
import OAuth
import Synchronization
import Testing

/// The token store with three functions.
@Suite struct KeptTokensTests {
    private struct Failure: Error {}

    private final class Place: TokenKeeping {
        let bytes = Mutex<Data?>(nil)
        let isBroken = Mutex(false)

        private func check() throws {
            if isBroken.withLock({ $0 }) { throw Failure() }
        }

        func store(_ tokens: Data) async throws {
            try check()
            bytes.withLock { $0 = tokens }
        }

        func get() async throws -> Data? {
            try check()
            return bytes.withLock { $0 }
        }

        func remove() async throws {
            try check()
            bytes.withLock { $0 = nil }
        }
    }

    private func record(_ revision: Int, _ token: String) -> TokenRecord {
        var record = TokenRecord(authority: "https://id.test")
        record.revision = revision
        record.refreshToken = Secret(token)
        return record
    }

    @Test func `a record survives the store, and an old revision is a conflict`()
        async throws
    {
        let place = Place()
        let store = KeptTokens(in: place)
        #expect(try await store.load() == nil)
        try await store.save(record(1, "a"), replacing: 0)
        #expect(try await KeptTokens(in: place).load() == record(1, "a"))
        await #expect(throws: TokenStoreError.conflict) {
            try await store.save(record(2, "b"), replacing: 0)
        }
        try await store.save(record(2, "b"), replacing: 1)
        try await store.forgetSignIn()
        #expect(place.bytes.withLock { $0 } == nil)
        // A missing record would not be a sign-out.
        #expect(try await store.load()?.signedOutAt != nil)
    }

    @Test func `foreign bytes and a failing place are errors without a secret`()
        async throws
    {
        let place = Place()
        let store = KeptTokens(in: place)
        place.bytes.withLock { $0 = Data("c4nary".utf8) }
        let unreadable = await #expect(throws: TokenStoreError.self) { try await store.load() }
        #expect("\(unreadable, default: "")".contains("c4nary") == false)
        place.isBroken.withLock { $0 = true }
        await #expect(throws: TokenStoreError.unavailable("the token store failed: Failure()")) {
            try await store.load()
        }
    }

    @Test func `only one holder has the lock at a time`() async throws {
        let store = KeptTokens(in: Place())
        let clock = ManualClock()
        let lock = try await store.lock(until: clock.now + .seconds(1), clock: clock)
        async let second = store.lock(until: clock.now + .seconds(1), clock: clock)
        lock.release()
        try await second.release()
    }
}
