import Synchronization

/// Something that a test or a script waits for until somebody opens it.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [CheckedContinuation<Bool, Never>] = []
    }

    private let state = Mutex(State())

    /// Makes a closed gate.
    package init() {}

    /// Lets everybody pass, now and later.
    package func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    /// Returns when the gate is open.
    ///
    /// - Throws: `WireError.timedOut` after ten seconds: the story has gone wrong.
    package func wait() async throws {
        // Bounds the wait; it is called off as soon as the gate opens.
        let bound = Task {
            try await Task.sleep(for: Wire.patience)
            self.giveUp()
        }
        defer { bound.cancel() }
        let isOpen = await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume(returning: true) }
        }
        guard isOpen else { throw WireError.timedOut }
    }

    private func giveUp() {
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: false) }
    }
}
