import NetworkCore
import OAuth
import TestSupport
import Testing

@Suite struct MemoryTokenStoreTests {
    @Test func `waiting for the lock ends at the deadline, and the next in line gets it`()
        async throws
    {
        let clock = ManualClock()
        let store = MemoryTokenStore()
        let held = try await store.lock(until: clock.now, clock: clock)
        let end = clock.now + .seconds(3)
        let late = Task { try await store.lock(until: end, clock: clock).release() }
        #expect(await eventually { clock.sleepers == 1 })
        clock.advance(by: .seconds(3))
        let error = await #expect(throws: TokenStoreError.self) { try await late.value }
        guard case .locked = error else { throw error ?? TokenStoreError.conflict }
        held.release()
        try await store.lock(until: clock.now, clock: clock).release()
    }

    @Test func `a cancelled caller does not get the lock`() async throws {
        let clock = ManualClock()
        let store = MemoryTokenStore()
        let held = try await store.lock(until: clock.now, clock: clock)
        let door = Door()
        door.close()
        let late = Task {
            // Never opens: only the cancellation ends the wait.
            await door.pass()
            try await store.lock(until: clock.now, clock: clock).release()
        }
        late.cancel()
        held.release()
        await #expect(throws: CancellationError.self) { try await late.value }
    }
}
