import Synchronization

/// A gate at which tests and scripts wait until it is opened.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
        var lastID = 0
    }

    private let state = Mutex(State())

    /// Creates a closed gate.
    package init() {}

    /// Opens the gate permanently.
    package func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    /// Waits until the gate is open.
    ///
    /// - Throws: `WireError.timedOut` after `Wire.patience`.
    package func wait() async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        // Limits the wait; canceled when the gate opens.
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

    /// Ends a wait that took too long.
    private func giveUp(_ id: Int) {
        state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: false)
    }
}
