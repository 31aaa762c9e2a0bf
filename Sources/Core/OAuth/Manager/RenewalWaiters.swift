import NetworkCore
import Synchronization

/// The requests that wait for one renewal: a limited number, each up to its own deadline.
///
/// A waiter leaves by itself when it is cancelled or reaches its deadline. The renewal continues.
final class RenewalWaiters: Sendable {
    /// The end of a wait.
    enum Exit: Sendable {
        case outcome(RenewalOutcome)
        case timedOut
        case cancelled
        case full
    }

    /// The purpose of a wait.
    enum Purpose: Sendable {
        /// Replaying a refused request.
        case replay
        /// Sending a request for the first time.
        case request
        /// The result of a command: not counted against the limit, and never sent ahead to try a token.
        case command
    }

    private struct Waiter {
        let purpose: Purpose
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<Exit, Never>
    }

    private struct State {
        var outcome: RenewalOutcome?
        var waiters: [Int: Waiter] = [:]
        var nextID = 0
        var sweeper: Task<Void, Never>?
        var sweepAt: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let clock: any NetworkClock
    private let limit: Int

    init(clock: any NetworkClock, limit: Int) {
        self.clock = clock
        self.limit = limit
    }

    /// The number of waiting requests.
    var count: Int { state.withLock { $0.waiters.count } }

    /// Waits for the outcome.
    func wait(
        until deadline: ContinuousClock.Instant,
        as purpose: Purpose = .request
    ) async -> Exit {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if let exit = enter(id, purpose, deadline, continuation) {
                    continuation.resume(returning: exit)
                }
            }
        } onCancel: {
            leave(id, .cancelled)
        }
    }

    /// Ends every wait, now and later.
    func finish(_ outcome: RenewalOutcome) {
        let waiters = state.withLock { state in
            guard state.outcome == nil else { return [Waiter]() }
            state.outcome = outcome
            state.sweeper?.cancel()
            state.sweeper = nil
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.continuation.resume(returning: .outcome(outcome)) }
    }

    /// Ends the wait of one waiter: a replay if there is one, because it is certain to be sent.
    ///
    /// - Parameter outcome: the outcome that it gets.
    /// - Returns: the purpose of its wait; `nil` if none waits.
    func releaseOne(_ outcome: RenewalOutcome) -> Purpose? {
        let waiter = state.withLock { state in
            let replays = state.waiters.filter { $0.value.purpose == .replay }
            let requests = state.waiters.filter { $0.value.purpose == .request }
            let first = replays.keys.min() ?? requests.keys.min()
            return first.flatMap { state.waiters.removeValue(forKey: $0) }
        }
        waiter?.continuation.resume(returning: .outcome(outcome))
        return waiter?.purpose
    }

    private func enter(
        _ id: Int,
        _ purpose: Purpose,
        _ deadline: ContinuousClock.Instant,
        _ continuation: CheckedContinuation<Exit, Never>
    ) -> Exit? {
        let now = clock.now
        return state.withLock { state in
            if let outcome = state.outcome { return .outcome(outcome) }
            // Inside the lock: a cancellation before this line is seen here, a later one finds the
            // waiter registered.
            if Task.isCancelled { return .cancelled }
            if deadline <= now { return .timedOut }
            if state.waiters.count >= limit, purpose != .command { return .full }
            state.waiters[id] = Waiter(
                purpose: purpose,
                deadline: deadline,
                continuation: continuation
            )
            if state.sweepAt.map({ deadline < $0 }) ?? true { sweep(at: deadline, &state) }
            return nil
        }
    }

    private func leave(_ id: Int, _ exit: Exit) {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
        waiter?.continuation.resume(returning: exit)
    }

    /// Starts the one sleeping task for all deadlines; `finish` cancels it.
    private func sweep(at deadline: ContinuousClock.Instant, _ state: inout sending State) {
        state.sweeper?.cancel()
        state.sweepAt = deadline
        state.sweeper = Task { [weak self, clock] in
            do { try await clock.sleep(until: deadline) } catch { return }
            self?.expire()
        }
    }

    private func expire() {
        let now = clock.now
        let late = state.withLock { state in
            let late = state.waiters.filter { $0.value.deadline <= now }
            for id in late.keys { state.waiters[id] = nil }
            state.sweepAt = nil
            if let next = state.waiters.values.map(\.deadline).min() { sweep(at: next, &state) }
            return Array(late.values)
        }
        for waiter in late { waiter.continuation.resume(returning: .timedOut) }
    }
}
