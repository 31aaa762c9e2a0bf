import Synchronization

/// Tasks that wait, each for what it wishes, until that has come or the task is cancelled.
final class Waiters<Wish: Sendable>: Sendable {
    private struct State {
        var waiting: [Int: (wish: Wish, continuation: CheckedContinuation<Void, Never>)] = [:]
        var lastID = 0
    }

    private let state = Mutex(State())

    /// The number of waiting tasks.
    var count: Int { state.withLock { $0.waiting.count } }

    /// Returns once the wish is released or the task is cancelled; at once if `isFulfilled` says so.
    ///
    /// That is checked after the wish is registered, so that a release in between is not lost.
    func wait(for wish: Wish, unless isFulfilled: () -> Bool) async {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { $0.waiting[id] = (wish, continuation) }
                if Task.isCancelled || isFulfilled() { release(id) }
            }
        } onCancel: {
            release(id)
        }
    }

    /// Resumes the tasks whose wish is fulfilled.
    func release(where isFulfilled: (Wish) -> Bool) {
        let released = state.withLock { state in
            let ids = state.waiting.filter { isFulfilled($0.value.wish) }.keys
            return ids.compactMap { state.waiting.removeValue(forKey: $0)?.continuation }
        }
        for continuation in released { continuation.resume() }
    }

    private func release(_ id: Int) {
        state.withLock { $0.waiting.removeValue(forKey: id) }?.continuation.resume()
    }
}
