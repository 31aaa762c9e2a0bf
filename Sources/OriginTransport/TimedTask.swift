import EventIO
import NetworkCore
import Synchronization

/// Work on a loop that ends at a deadline: one task and one timer of the loop.
///
/// Costs a tenth of a group of two tasks, which is what `Deadline` is made of.
enum TimedTask {
    /// Runs `operation` on the loop in a task of its own; past the deadline it is cancelled.
    ///
    /// - Throws: `http_response_timeout` past the deadline, else what `operation` throws.
    static func run<Result: Sendable>(
        on loop: EventLoop,
        until deadline: ContinuousClock.Instant,
        _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let cancellation = Cancellation()
        // A task of its own, because only a task can be cancelled; its caller waits for it.
        let task = Task(executorPreference: loop) {
            let timer = CancellationTimer(cancellation)
            loop.schedule(
                timer,
                at: loop.deadline(after: ContinuousClock.now.duration(to: deadline))
            )
            defer { loop.remove(timer) }
            return try await operation()
        }
        cancellation.arm { task.cancel() }
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch {
            guard cancellation.isOverdue else { throw error }
            throw NetworkError(
                .httpResponseTimeout,
                side: .upstream,
                detail: "the exchange took too long"
            )
        }
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
