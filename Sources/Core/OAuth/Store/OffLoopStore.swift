import NetproxySystem
import NetworkCore

/// Calls a store on a thread that may wait for a disk, as `TokenStoring` promises.
struct OffLoopStore: TokenStoring {
    private let store: any TokenStoring

    init(_ store: any TokenStoring) { self.store = store }

    var isShared: Bool { store.isShared }

    func lock(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock {
        try await OffLoop.run { try await store.lock(until: deadline, clock: clock) }
    }

    func lockUnlessChanged(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock? {
        try await OffLoop.run { try await store.lockUnlessChanged(until: deadline, clock: clock) }
    }

    func load(under lock: TokenStoreLock?) async throws -> TokenRecord? {
        try await OffLoop.run { try await store.load(under: lock) }
    }

    func save(_ record: TokenRecord, replacing revision: Int) async throws {
        try await OffLoop.run { try await store.save(record, replacing: revision) }
    }

    func remove(revision: Int) async throws {
        try await OffLoop.run { try await store.remove(revision: revision) }
    }

    func remembersSignOut() async -> Bool {
        await OffLoop.run { await store.remembersSignOut() }
    }

    func changes() -> AsyncStream<TokenRecord?>? { store.changes() }
}
