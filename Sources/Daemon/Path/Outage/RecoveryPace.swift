package import NetworkCore
import Synchronization

/// Waits between the attempts to read secrets; requests can shorten a wait.
package final class RecoveryPace: Sendable {
    private struct State {
        var backoff: ReadingBackoff
        /// Ends when the next attempt begins; `nil` during an attempt.
        var sleeper: Task<Void, Never>?
    }

    private let clock: any NetworkClock
    private let state: Mutex<State>

    package init(clock: any NetworkClock = SystemClock()) {
        self.clock = clock
        state = Mutex(State(backoff: ReadingBackoff(at: clock.now)))
    }

    /// Returns when the next attempt may begin, or when the task is canceled.
    ///
    /// - Parameter jitter: a random number from 0 to 1.
    package func waitAfterFailure(jitter: Double = .random(in: 0...1)) async {
        let sleeper = state.withLock { state in
            state.backoff.fail(at: clock.now, jitter: jitter)
            let due = state.backoff.due
            let sleeper = Task { [clock] in
                // An error means that a request or the end of the recovery canceled the sleep.
                do { try await clock.sleep(until: due) } catch {}
            }
            state.sleeper = sleeper
            return sleeper
        }
        await withTaskCancellationHandler {
            await sleeper.value
        } onCancel: {
            sleeper.cancel()
        }
        state.withLock { $0.sleeper = nil }
    }

    /// Begins the next attempt for a request, unless one is in progress or the last one has just failed.
    func hurry() {
        state.withLock { state in
            guard state.backoff.dueForRequest <= clock.now else { return }
            state.sleeper?.cancel()
        }
    }

    /// The time until an attempt that a request can begin; zero during an attempt.
    var untilRequest: Duration {
        state.withLock { state in
            state.sleeper == nil ? .zero : max(.zero, state.backoff.dueForRequest - clock.now)
        }
    }

    /// The time until the next attempt; `nil` during an attempt.
    package var untilNext: Duration? {
        state.withLock { state in
            state.sleeper == nil ? nil : max(.zero, state.backoff.due - clock.now)
        }
    }
}
