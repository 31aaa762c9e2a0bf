import Synchronization

/// Keeps tokens for as long as the process runs.
public final class MemoryTokenStore: TokenStoring {
    private struct State {
        var record: TokenRecord?
        var isLocked = false
        var queue: [(id: Int, continuation: CheckedContinuation<Bool, Never>)] = []
        var nextID = 0
    }

    private let state = Mutex(State())

    /// An empty store.
    public init(_ record: TokenRecord? = nil) {
        state.withLock { $0.record = record }
    }

    /// Takes the lock in the order of the calls.
    ///
    /// The deadline is the holder's, which is bounded.
    public func lock(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let isGranted = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if Task.isCancelled { return false }
                    guard state.isLocked else {
                        state.isLocked = true
                        return true
                    }
                    state.queue.append((id, continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiting = state.withLock { state in
                state.queue.firstIndex { $0.id == id }.map { state.queue.remove(at: $0) }
            }
            waiting?.continuation.resume(returning: false)
        }
        guard isGranted else { throw CancellationError() }
        let held = HeldFlag()
        return TokenStoreLock { [weak self] in
            if held.clear() { self?.unlock() }
        }
    }

    private func unlock() {
        let next = state.withLock { state in
            if state.queue.isEmpty {
                state.isLocked = false
                return CheckedContinuation<Bool, Never>?.none
            }
            return state.queue.removeFirst().continuation
        }
        next?.resume(returning: true)
    }

    /// What is stored.
    public func load(under lock: TokenStoreLock?) -> TokenRecord? { record }

    /// What is stored.
    public var record: TokenRecord? { state.withLock { $0.record } }

    /// Stores a record.
    public func save(_ record: TokenRecord, replacing revision: Int) throws {
        try state.withLock { state in
            guard state.record?.revision ?? 0 == revision else { throw TokenStoreError.conflict }
            state.record = record
        }
    }

    /// Removes the record.
    public func remove(revision: Int) throws {
        try state.withLock { state in
            guard state.record?.revision ?? 0 == revision else { throw TokenStoreError.conflict }
            state.record = nil
        }
    }
}

/// Lets a lock be given back once, however often it is asked to.
private final class HeldFlag: Sendable {
    private let isHeld = Mutex(true)

    func clear() -> Bool {
        isHeld.withLock { held in
            defer { held = false }
            return held
        }
    }
}
