package import EventIO
import NetworkCore
import Synchronization

/// Work on a loop that ends at a deadline: one task and one timer of the loop.
///
/// Costs a tenth of a group of two tasks, one of which sleeps.
package enum TimedTask {
    /// Runs `operation` on the loop in a task of its own; past the deadline it is cancelled.
    ///
    /// - Parameters:
    ///   - loop: where to run; call it there.
    ///   - deadline: when the operation must be over.
    ///   - state: what the operation writes to, whether it ends well or not.
    ///   - operation: the work.
    /// - Returns: what `operation` returns.
    /// - Throws: `http_response_timeout` past the deadline, else what `operation` throws.
    package static func run<State: Sendable, Value: Sendable>(
        on loop: EventLoop,
        until deadline: ContinuousClock.Instant,
        _ state: inout State,
        _ operation: @escaping @Sendable (inout State) async throws -> Value
    ) async throws -> Value {
        let cancellation = Cancellation()
        let started = state
        // A task of its own, because only a task can be cancelled; its caller waits for it.
        let task = Task(executorPreference: loop) {
            let timer = CancellationTimer(cancellation)
            loop.schedule(
                timer,
                at: loop.deadline(after: ContinuousClock.now.duration(to: deadline))
            )
            defer { loop.remove(timer) }
            var state = started
            do {
                return (Result<Value, any Error>.success(try await operation(&state)), state)
            } catch {
                return (.failure(error), state)
            }
        }
        cancellation.arm { task.cancel() }
        let result: Result<Value, any Error>
        (result, state) = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        switch result {
        case .success(let value): return value
        case .failure(let error): throw cancellation.isOverdue ? NetworkError.overdue(error) : error
        }
    }
}

extension NetworkError {
    /// The error of an exchange that its deadline ended before anything was sent.
    static var overdueUnsent: NetworkError { overdue(retry: .safe) }

    /// The error of an exchange that its deadline ended.
    ///
    /// - Parameter error: what that did to it, which knows whether the request had been sent.
    /// - Returns: `http_response_timeout`.
    static func overdue(_ error: (any Error)? = nil) -> NetworkError {
        overdue(retry: (error as? NetworkError)?.retry ?? .unsafe)
    }

    private static func overdue(retry: RetrySafety) -> NetworkError {
        NetworkError(
            .httpResponseTimeout,
            side: .upstream,
            retry: retry,
            detail: "the exchange took too long"
        )
    }
}

/// What a timer does to a task, which may be made after the timer.
private final class Cancellation: Sendable {
    private struct State {
        var isOverdue = false
        var cancel: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    var isOverdue: Bool { state.withLock { $0.isOverdue } }

    func arm(_ cancel: @escaping @Sendable () -> Void) {
        let isOverdue = state.withLock { state in
            state.cancel = cancel
            return state.isOverdue
        }
        if isOverdue { cancel() }
    }

    func strike() {
        let cancel = state.withLock { state in
            state.isOverdue = true
            return state.cancel
        }
        cancel?()
    }
}

/// Cancels a task when its time is over.
private final class CancellationTimer: TimerEntry {
    private let cancellation: Cancellation

    init(_ cancellation: Cancellation) {
        self.cancellation = cancellation
    }

    override func fire() { cancellation.strike() }
}
