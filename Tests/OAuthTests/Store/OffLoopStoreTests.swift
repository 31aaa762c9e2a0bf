import NetproxyEventIO
import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

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

    func remove(revision: Int) async throws {
        note("remove")
        try await store.remove(revision: revision)
    }
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
        #expect(store.calls.all == ["lock", "load", "save", "remove"])
        #expect(store.calls.onLoop.isEmpty == mayBlock, "\(store.calls.onLoop)")
    }
}
