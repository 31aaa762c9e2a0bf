import NetworkCore
import OAuth
import Synchronization
import TestSupport

/// A store in memory that a test inspects and disturbs.
final class WatchedStore: TokenStoring {
    private struct State {
        var onSave: (@Sendable (TokenRecord) -> Void)?
        var onLoad: (@Sendable (inout TokenRecord?, Int) -> Void)?
        var loads = 0
        var failsSaving = false
        var failsLocking = false
        var lacksLock = false
        var isLost = false
        var revisions: [String: Int] = [:]
        var fault: TokenStoreError?
        var door: Door?
    }

    private let inner = MemoryTokenStore()
    /// No: a wait for it depends on the clock of the test alone.
    var mayBlock: Bool { false }
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

    /// Whether another process always has the lock.
    var failsLocking: Bool {
        get { state.withLock { $0.failsLocking } }
        set { state.withLock { $0.failsLocking = newValue } }
    }

    /// Whether the lock is unavailable, as in a read-only directory.
    var lacksLock: Bool {
        get { state.withLock { $0.lacksLock } }
        set { state.withLock { $0.lacksLock = newValue } }
    }

    /// The error of every reading, also before a save.
    var fault: TokenStoreError? {
        get { state.withLock { $0.fault } }
        set { state.withLock { $0.fault = newValue } }
    }

    /// The door at which the next caller of `lock` waits, but not the ones after it.
    var door: Door? {
        get { state.withLock { $0.door } }
        set { state.withLock { $0.door = newValue } }
    }

    /// The stored record.
    var record: TokenRecord? { state.withLock { $0.isLost } ? nil : inner.record }

    /// The revisions that the store keeps for the next start.
    var keptRevisions: [String: Int] { state.withLock { $0.revisions } }

    /// Signs out without the lock.
    func signOut() throws {
        try put { record in
            let revision = record.revision
            record = record.signedOut(at: UnixTime(secondsSinceEpoch: 1))
            record.revision = revision
        }
    }

    /// Loses the stored record.
    func lose() { state.withLock { $0.isLost = true } }

    /// Puts an earlier record back, as a restored copy does.
    func restore(_ record: TokenRecord) throws {
        try inner.save(record, replacing: inner.record?.revision ?? 0)
    }

    /// Changes the stored record without the lock.
    func put(_ change: (inout TokenRecord) -> Void) throws {
        let authority = "client@https://login.example.com/token"
        var record = inner.record ?? TokenRecord(authority: authority)
        let revision = record.revision
        change(&record)
        record.revision = revision + 1
        try inner.save(record, replacing: revision)
    }

    func lock(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock {
        if failsLocking { throw TokenStoreError.locked("tokens.lock") }
        if lacksLock { throw TokenStoreError.unavailable("open tokens.lock: Read-only") }
        let door = state.withLock { state in
            defer { state.door = nil }
            return state.door
        }
        await door?.pass()
        return try await inner.lock(until: deadline, clock: clock)
    }

    func load(under lock: TokenStoreLock?) async throws -> TokenRecord? {
        if let fault { throw fault }
        let (disturb, count) = state.withLock { state in
            state.loads += 1
            return (state.onLoad, state.loads)
        }
        var record = self.record
        disturb?(&record, count)
        return record
    }

    func save(_ record: TokenRecord, replacing revision: Int) async throws {
        if let fault { throw fault }
        if failsSaving { throw TokenStoreError.unavailable("write tokens.json: No space left") }
        onSave?(record)
        let isLost = state.withLock { state in
            defer { state.isLost = false }
            return state.isLost
        }
        try inner.save(record, replacing: isLost ? inner.record?.revision ?? 0 : revision)
    }

    func revisions() async -> [String: Int] { keptRevisions }

    func keepRevisions(_ revisions: [String: Int]) async {
        state.withLock { $0.revisions = revisions }
    }
}
