import NetproxyEventIO
import NetworkCore
import NetworkTesting
import Synchronization
import TestSupport
import Testing

@testable import OAuth

/// A store that records the thread of its calls.
private final class PlacedStore: TokenStoring {
    private let store: any TokenStoring = MemoryTokenStore()
    private let loop: EventLoop
    let mayBlock: Bool
    private let found = Mutex<(all: Set<String>, onLoop: Set<String>)>(([], []))

    init(_ loop: EventLoop, mayBlock: Bool) { (self.loop, self.mayBlock) = (loop, mayBlock) }

    var calls: (all: Set<String>, onLoop: Set<String>) { found.withLock { $0 } }

    private func note(_ name: String) {
        let isOnLoop = loop.isCurrent
        found.withLock { found in
            found.all.insert(name)
            if isOnLoop { found.onLoop.insert(name) }
        }
    }

    func lock(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock {
        note("lock")
        return try await store.lock(until: deadline, clock: clock)
    }

    func load(under lock: TokenStoreLock?) async throws -> TokenRecord? {
        note("load")
        return try await store.load(under: lock)
    }

    func save(_ record: TokenRecord, replacing revision: Int) async throws {
        note("save")
        try await store.save(record, replacing: revision)
    }

    func revisions() async -> [String: Int] {
        note("revisions")
        return [:]
    }

    func keepRevisions(_ revisions: [String: Int]) async { note("keepRevisions") }
}

/// A store whose calls end when the test says so.
private final class HangingStore: TokenStoring {
    let door = Door()
    let calls = Counter()

    func lock(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock {
        _ = calls.next()
        await door.pass()
        return TokenStoreLock {}
    }

    func load(under lock: TokenStoreLock?) async throws -> TokenRecord? {
        _ = calls.next()
        await door.pass()
        return nil
    }

    func save(_ record: TokenRecord, replacing revision: Int) async throws { await door.pass() }
}

@Suite struct OffLoopStoreTests {
    @Test(arguments: [true, false])
    func `a store that may block is not called on the loop of a request`(mayBlock: Bool)
        async throws
    {
        let loop = try EventLoop(index: 93)
        try loop.start()
        defer { loop.stop() }
        let store = PlacedStore(loop, mayBlock: mayBlock)
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")), store: store)
        try await Task(executorPreference: loop) {
            _ = try await harness.token()
            _ = await harness.reject(1)
            try await harness.manager.forget()
        }
        .value
        #expect(store.calls.all == ["lock", "load", "save", "revisions", "keepRevisions"])
        #expect(store.calls.onLoop.isEmpty == mayBlock, "\(store.calls.onLoop)")
    }

    /// Runs work until the clock has passed the limit of the call in it.
    private func unresponsive<Success: Sendable>(
        _ clock: ManualClock,
        _ work: @escaping @Sendable () async throws -> Success
    ) async -> Bool {
        let call = Task { try await work() }
        #expect(await eventually { clock.sleepers > 0 })
        clock.advance(by: .seconds(11))
        do {
            _ = try await call.value
            return false
        } catch TokenStoreError.unresponsive {
            return true
        } catch {
            return false
        }
    }

    enum Call: CaseIterable, Sendable {
        case lock, load, save
    }

    @Test(arguments: Call.allCases)
    func `a call that hangs is given up, and the next ones fail until it ends`(call: Call)
        async throws
    {
        let (clock, hanging) = (ManualClock(), HangingStore())
        let store = OffLoopStore(hanging, clock: clock)
        hanging.door.close()
        let isGivenUp = await unresponsive(clock) {
            switch call {
            case .lock:
                _ = try await store.lock(until: clock.now + .seconds(60), clock: clock)
            case .load: _ = try await store.load()
            case .save: try await store.save(.forTests(1), replacing: 0)
            }
        }
        #expect(isGivenUp)
        await #expect(throws: TokenStoreError.self) { try await store.load() }
        hanging.door.open()
        let isBack = await eventually {
            do {
                _ = try await store.load()
                return true
            } catch { return false }
        }
        #expect(isBack)
    }

    @Test func `the client's own credentials do not wait for a store that hangs`() async throws {
        let (clock, hanging) = (ManualClock(), HangingStore())
        hanging.door.close()
        let harness = OAuthHarness(store: OffLoopStore(hanging, clock: clock))
        let token = Task { try await harness.token() }
        #expect(await eventually { clock.sleepers > 0 })
        clock.advance(by: .seconds(4))
        #expect(try await token.value == "Bearer access-1")
        #expect(await harness.manager.status().storeFault == .unresponsive)
        // At most one call waits in the store; on a slow machine it may not have begun.
        #expect(hanging.calls.next() <= 2)
        hanging.door.open()
    }
}
