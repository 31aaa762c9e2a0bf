import Synchronization

/// A set of waiting tasks, each with a wish; a task resumes when its wish is fulfilled or it is canceled.
final class Waiters<Wish: Sendable>: Sendable {
    private struct State {
        var waiting: [Int: (wish: Wish, continuation: CheckedContinuation<Void, Never>)] = [:]
        var lastID = 0
    }

    private let state = Mutex(State())

    /// The number of waiting tasks.
    var count: Int { state.withLock { $0.waiting.count } }

    /// Waits until the wish is fulfilled or the task is canceled; returns immediately if `isFulfilled` is
    /// true.
    ///
    /// `isFulfilled` is checked after the wish is registered, so that a release in between is not lost.
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
