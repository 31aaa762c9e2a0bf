import Synchronization

/// A door that the test opens and closes; whoever comes to a closed one waits.
public final class Door: Sendable {
    private struct State {
        var isOpen: Bool
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextID = 0
    }

    private let state = Mutex(State(isOpen: true))

    /// An open gate.
    public init() {}

    /// How many wait.
    public var waiting: Int { state.withLock { $0.waiting.count } }

    /// Lets nobody through from now on.
    public func close() { state.withLock { $0.isOpen = false } }

    /// Lets everybody through.
    public func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Returns when the gate is open or the task is cancelled.
    public func pass() async {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isFree = state.withLock { state in
                    if state.isOpen || Task.isCancelled { return true }
                    state.waiting[id] = continuation
                    return false
                }
                if isFree { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: id) }?.resume()
        }
    }
}
