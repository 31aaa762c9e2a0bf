import NetworkCore
import OAuth
import TestSupport
import Testing

@Suite struct FileTokenStoreLockTests {
    @Test func `only one store holds the lock at a time`() async throws {
        let directory = try TokenDirectory()
        let clock = ManualClock()
        let one = FileTokenStore(directory: directory.path, family: "orders")
        let other = FileTokenStore(directory: directory.path, family: "orders")
        let held = try await one.lock(until: clock.now + .seconds(1), clock: clock)
        let waiting = Task {
            try await other.lock(until: clock.now + .seconds(10), clock: clock)
        }
        #expect(await eventually { clock.sleepers == 1 })
        held.release()
        clock.advance(by: .seconds(1))
        try await waiting.value.release()
    }

    @Test func `waiting for a lock ends at the deadline`() async throws {
        let directory = try TokenDirectory()
        let clock = ManualClock()
        let store = FileTokenStore(directory: directory.path, family: "orders")
        let held = try await store.lock(until: clock.now, clock: clock)
        await #expect(throws: TokenStoreError.locked("\(directory.path)/orders.lock")) {
            try await store.lock(until: clock.now, clock: clock)
        }
        held.release()
    }

    @Test func `a held lock does not prevent reading`() async throws {
        let directory = try TokenDirectory()
        let clock = ManualClock()
        let store = FileTokenStore(directory: directory.path, family: "orders")
        let held = try await store.lock(until: clock.now + .seconds(1), clock: clock)
        try await store.save(TokenRecord.forTests(1), replacing: 0)
        let other = FileTokenStore(directory: directory.path, family: "orders")
        #expect(try await other.load() == TokenRecord.forTests(1))
        held.release()
    }

    @Test func `releasing a lock twice does not release it for its next holder`() async throws {
        let directory = try TokenDirectory()
        let clock = ManualClock()
        let store = FileTokenStore(directory: directory.path, family: "orders")
        let first = try await store.lock(until: clock.now + .seconds(1), clock: clock)
        first.release()
        let second = try await store.lock(until: clock.now + .seconds(1), clock: clock)
        first.release()
        await #expect(throws: TokenStoreError.self) {
            try await store.lock(until: clock.now, clock: clock)
        }
        second.release()
    }

    @Test func `waiting for a lock can be cancelled`() async throws {
        let directory = try TokenDirectory()
        let clock = ManualClock()
        let store = FileTokenStore(directory: directory.path, family: "orders")
        let held = try await store.lock(until: clock.now + .seconds(1), clock: clock)
        let waiting = Task {
            try await store.lock(until: clock.now + .seconds(10), clock: clock)
        }
        await clock.untilSomebodySleeps()
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        held.release()
    }
}
