import NetworkCore
import Synchronization

/// A store in memory that a test looks into and disturbs.
final class WatchedStore: TokenStoring {
    private struct State {
        var onSave: (@Sendable (TokenRecord) -> Void)?
        var onLoad: (@Sendable (inout TokenRecord?, Int) -> Void)?
        var loads = 0
        var failsSaving = false
    }

    private let inner = MemoryTokenStore()
    private let state = Mutex(State())

    var onSave: (@Sendable (TokenRecord) -> Void)? {
        get { state.withLock { $0.onSave } }
        set { state.withLock { $0.onSave = newValue } }
    }

    var onLoad: (@Sendable (inout TokenRecord?, Int) -> Void)? {
        get { state.withLock { $0.onLoad } }
        set {
            state.withLock { state in
                state.onLoad = newValue
                state.loads = 0
            }
        }
    }

    var failsSaving: Bool {
        get { state.withLock { $0.failsSaving } }
        set { state.withLock { $0.failsSaving = newValue } }
    }

    func lock(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock {
        try await inner.lock(until: deadline, clock: clock)
    }

    func load(under lock: TokenStoreLock?) async throws -> TokenRecord? {
        let (disturb, count) = state.withLock { state in
            state.loads += 1
            return (state.onLoad, state.loads)
        }
        var record = inner.record
        disturb?(&record, count)
        return record
    }

    func save(_ record: TokenRecord, replacing revision: Int) async throws {
        if failsSaving { throw TokenStoreError.unavailable("write tokens.json: No space left") }
        onSave?(record)
        try inner.save(record, replacing: revision)
    }

    func remove(revision: Int) async throws { try inner.remove(revision: revision) }
}
