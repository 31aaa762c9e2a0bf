import Synchronization

/// Something that a test or a script waits for until somebody opens it.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
        var lastID = 0
    }

    private let state = Mutex(State())

    /// Makes a closed gate.
    package init() {}

    /// Lets everybody pass, now and later.
    package func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    /// Returns when the gate is open.
    ///
    /// - Throws: `WireError.timedOut` after `Wire.patience`: the story has gone wrong.
    package func wait() async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        // Bounds the wait; it is called off as soon as the gate opens.
        let bound = Task {
            try await Task.sleep(for: Wire.patience)
            self.giveUp(id)
        }
        defer { bound.cancel() }
        let isOpen = await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters[id] = continuation }
                return state.isOpen
            }
            if isOpen { continuation.resume(returning: true) }
        }
        guard isOpen else { throw WireError.timedOut }
    }

    /// Ends the wait whose time is over; the others have theirs.
    private func giveUp(_ id: Int) {
        state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: false)
    }
}
