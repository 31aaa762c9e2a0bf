public import NetworkClient
import Synchronization

/// A clock that only tests advance.
public final class ManualClock: NetworkClock {
    /// The behavior of a task that sleeps.
    public enum Sleeping: Sendable {
        /// The task sleeps until the test has advanced the clock far enough.
        case held
        /// The clock moves to the instant, and the task continues.
        case skipped
    }

    private struct Sleeper {
        let instant: ContinuousClock.Instant
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var elapsed = Duration.zero
        var wallOffset = Duration.zero
        var slept: [Duration] = []
        var lastID = 0
        var sleepers: [Int: Sleeper] = [:]
    }

    private let start = ContinuousClock.now
    private let wallStart: UnixTime
    private let sleeping: Sleeping
    private let state = Mutex(State())
    private let watchers = Waiters<Void>()

    /// Creates a clock that stands still.
    public init(wall: Double = 1_800_000_000, sleeping: Sleeping = .held) {
        wallStart = UnixTime(secondsSinceEpoch: wall)
        self.sleeping = sleeping
    }

    /// The current instant.
    public var now: ContinuousClock.Instant { start + state.withLock { $0.elapsed } }

    /// The time of day; it advances together with `now`.
    public var wallNow: UnixTime {
        state.withLock { wallStart + ($0.wallOffset + $0.elapsed) }
    }

    /// The number of tasks that sleep on this clock.
    public var sleepers: Int { state.withLock { $0.sleepers.count } }

    /// The requested duration of each sleep, in order.
    public var slept: [Duration] { state.withLock { $0.slept } }

    /// Advances both clocks and wakes the tasks whose instant has come.
    public func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.elapsed += duration
            let now = start + state.elapsed
            let due = state.sleepers.filter { $0.value.instant <= now }
            for id in due.keys { state.sleepers.removeValue(forKey: id) }
            return due.values.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Changes the wall clock only, as a person or NTP does.
    public func setWall(by change: Duration) {
        state.withLock { $0.wallOffset += change }
    }

    /// Waits until the instant.
    ///
    /// - Throws: `CancellationError`.
    public func sleep(until instant: ContinuousClock.Instant) async throws {
        try Task.checkCancellation()
        if case .skipped = sleeping {
            state.withLock { state in
                let wait = (start + state.elapsed).duration(to: instant)
                state.slept.append(wait)
                state.elapsed += max(wait, .zero)
            }
            return
        }
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    state.slept.append((start + state.elapsed).duration(to: instant))
                    guard start + state.elapsed < instant, !Task.isCancelled else { return true }
                    state.sleepers[id] = Sleeper(instant: instant, continuation: continuation)
                    return false
                }
                if isOver { continuation.resume() } else { watchers.release { true } }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: id) }?.continuation.resume()
        }
        try Task.checkCancellation()
    }

    /// Waits until a task sleeps, or the caller is canceled.
    public func untilSomebodySleeps() async {
        await watchers.wait(for: ()) { sleepers > 0 }
    }
}
