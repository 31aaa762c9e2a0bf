import NetworkCore
import TestSupport
import Testing

@Suite struct OAuthMemoryLocks {
    @Test func `who has gone away already gets no lock`() async throws {
        let clock = ManualClock()
        let store = MemoryTokenStore()
        let held = try await store.lock(until: clock.now, clock: clock)
        let door = Door()
        door.close()
        let late = Task {
            // Opens for nobody: what lets it through is the cancellation.
            await door.pass()
            try await store.lock(until: clock.now, clock: clock).release()
        }
        late.cancel()
        held.release()
        await #expect(throws: CancellationError.self) { try await late.value }
    }
}
