public import NetworkCore
import Synchronization

/// Stores tokens in memory while the process runs.
public final class MemoryTokenStore: TokenStoring {
    private struct State {
        var record: TokenRecord?
        var isLocked = false
        var queue: [(id: Int, continuation: CheckedContinuation<Grant, Never>)] = []
        var nextID = 0
    }

    /// The end of a wait for the lock.
    private enum Grant {
        case granted, cancelled, late
    }

    private let state = Mutex(State())

    /// Creates a store that holds a record, or none.
    public init(_ record: TokenRecord? = nil) {
        state.withLock { $0.record = record }
    }

    /// No.
    public var mayBlock: Bool { false }

    /// Takes the lock; waiting calls get it in order.
    ///
    /// - Throws: `TokenStoreError.locked` at the deadline, `CancellationError`.
    public func lock(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let grant = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Grant? = state.withLock { state in
                    if Task.isCancelled { return .cancelled }
                    guard state.isLocked else {
                        state.isLocked = true
                        return .granted
                    }
                    state.queue.append((id, continuation))
                    return nil
                }
                guard let answer else { return giveUp(id, at: deadline, on: clock) }
                continuation.resume(returning: answer)
            }
        } onCancel: {
            end(id, as: .cancelled)
        }
        switch grant {
        case .granted: break
        case .cancelled: throw CancellationError()
        case .late: throw TokenStoreError.locked("in memory")
        }
        let held = HeldFlag()
        return TokenStoreLock { [weak self] in
            if held.clear() { self?.unlock() }
        }
    }

    /// Ends a wait at its deadline, unless it has ended by then.
    private func giveUp(
        _ id: Int,
        at deadline: ContinuousClock.Instant,
        on clock: any NetworkClock
    ) {
        // Ends by the deadline; the weak reference keeps no unused store alive.
        Task { [weak self] in
            try? await clock.sleep(until: deadline)
            self?.end(id, as: .late)
        }
    }

    private func end(_ id: Int, as grant: Grant) {
        let waiting = state.withLock { state in
            state.queue.firstIndex { $0.id == id }.map { state.queue.remove(at: $0) }
        }
        waiting?.continuation.resume(returning: grant)
    }

    private func unlock() {
        let next: CheckedContinuation<Grant, Never>? = state.withLock { state in
            guard !state.queue.isEmpty else {
                state.isLocked = false
                return nil
            }
            return state.queue.removeFirst().continuation
        }
        next?.resume(returning: .granted)
    }

    /// Returns the record.
    public func load(under lock: TokenStoreLock?) -> TokenRecord? { record }

    /// The record.
    public var record: TokenRecord? { state.withLock { $0.record } }

    /// Stores a record.
    public func save(_ record: TokenRecord, replacing revision: Int) throws {
        try state.withLock { state in
            guard state.record?.revision ?? 0 == revision else { throw TokenStoreError.conflict }
            state.record = record
        }
    }
}

/// Ensures that a lock is released once only.
private final class HeldFlag: Sendable {
    private let isHeld = Mutex(true)

    func clear() -> Bool {
        isHeld.withLock { held in
            defer { held = false }
            return held
        }
    }
}
