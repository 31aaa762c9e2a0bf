import NetproxySystem
import NetworkCore
import Synchronization

/// Calls a store on a thread that may wait for a disk, as `TokenStoring` promises, and does not wait for a
/// call that hangs.
///
/// While a call hangs, every other one fails immediately, so that one store holds one thread.
struct OffLoopStore: TokenStoring {
    /// The time that a call may take before the store counts as unresponsive.
    struct Patience: Sendable {
        /// For taking the lock, apart from the wait for its holder, and for reading.
        var reading = Duration.seconds(2)
        /// For writing, which waits until the content is on the medium.
        var writing = Duration.seconds(10)
    }

    /// The longest wait for the holder of the lock in one call.
    private static let lockWait = Duration.seconds(1)

    private let store: any TokenStoring
    private let patience: Patience
    private let clock: any NetworkClock
    private let hanging = HangingCalls()

    init(
        _ store: any TokenStoring,
        patience: Patience = Patience(),
        clock: any NetworkClock = SystemClock()
    ) {
        (self.store, self.patience, self.clock) = (store, patience, clock)
    }

    var isShared: Bool { store.isShared }
    /// No: the calls of the wrapped store do.
    var mayBlock: Bool { false }

    func lock(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock {
        try await waiting(until: deadline, clock) { try await store.lock(until: $0, clock: clock) }
    }

    func lockUnlessChanged(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock? {
        try await waiting(until: deadline, clock) {
            try await store.lockUnlessChanged(until: $0, clock: clock)
        }
    }

    func load(under lock: TokenStoreLock?) async throws -> TokenRecord? {
        try await bounded(patience.reading) { try await store.load(under: lock) }
    }

    func save(_ record: TokenRecord, replacing revision: Int) async throws {
        try await bounded(patience.writing) { try await store.save(record, replacing: revision) }
    }

    func revisions() async -> [String: Int] {
        // The call before this one has reported the fault.
        (try? await bounded(patience.reading) { await store.revisions() }) ?? [:]
    }

    func keepRevisions(_ revisions: [String: Int]) async {
        // A failure leaves the revisions that were kept before.
        try? await bounded(patience.writing) { await store.keepRevisions(revisions) }
    }

    func changes() -> AsyncStream<TokenRecord?>? { store.changes() }

    /// Waits for the holder of the lock in calls that are short enough to notice one that hangs.
    private func waiting<Lock: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ clock: any NetworkClock,
        _ attempt: @escaping @Sendable (ContinuousClock.Instant) async throws -> Lock
    ) async throws -> Lock {
        while true {
            let end = min(deadline, clock.now + Self.lockWait)
            do {
                return try await bounded(patience.reading + Self.lockWait) {
                    try await attempt(end)
                }
            } catch TokenStoreError.locked(let name) {
                guard end < deadline, clock.now >= end else {
                    throw TokenStoreError.locked(name)
                }
            }
        }
    }

    /// Runs a call of the store, and stops waiting for it after a limit.
    ///
    /// - Throws: the error of the call; `TokenStoreError.unresponsive`. A late result is dropped, which
    ///   releases a lock.
    private func bounded<Success: Sendable>(
        _ limit: Duration,
        _ work: @escaping @Sendable () async throws -> Success
    ) async throws -> Success {
        guard !hanging.areAny else { throw TokenStoreError.unresponsive(limit) }
        typealias End = Result<Success, any Error>
        let (ends, end) = AsyncStream.makeStream(of: End?.self)
        let outcome = FirstOutcome()
        let call = Task { [hanging] in
            let result: End
            do { result = .success(try await OffLoop.runForStore(work)) } catch {
                result = .failure(error)
            }
            guard outcome.decide() else { return hanging.end() }
            end.yield(result)
        }
        let timer = Task { [clock, hanging] in
            do { try await clock.sleep(until: clock.now + limit) } catch { return }
            guard outcome.decide() else { return }
            hanging.begin()
            end.yield(nil)
        }
        let wait = Task {
            for await first in ends { return first }
            return nil
        }
        let first = await withTaskCancellationHandler {
            await wait.value
        } onCancel: {
            call.cancel()
        }
        timer.cancel()
        guard let first else { throw TokenStoreError.unresponsive(limit) }
        return try first.get()
    }
}

/// Whether a call ended or reached its limit first.
///
/// Both can happen at the same moment, and the number of hanging calls must not go wrong then: the store would
/// count as unresponsive until the process ends.
private final class FirstOutcome: Sendable {
    private let isDecided = Atomic(false)

    /// Returns `true` for the first caller.
    func decide() -> Bool { !isDecided.exchange(true, ordering: .acquiringAndReleasing) }
}

/// The number of calls that nobody waits for any more.
private final class HangingCalls: Sendable {
    private let count = Mutex(0)

    var areAny: Bool { count.withLock { $0 > 0 } }

    func begin() { count.withLock { $0 += 1 } }

    /// May come before `begin()`, if the call ends at the limit.
    func end() { count.withLock { $0 -= 1 } }
}
