public import NetworkCore
import Synchronization

/// A clock that stands still until the test moves it.
public final class ManualClock: NetworkClock {
    private struct Sleeper {
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var wall = WallTime(secondsSinceEpoch: 1_800_000_000)
        var steady = ContinuousClock.now
        var sleepers: [Int: Sleeper] = [:]
        var nextID = 0
    }

    private let state = Mutex(State())

    /// A clock at a fixed time of day.
    public init() {}

    /// The time of day as the test has set it.
    public var wallNow: WallTime { state.withLock { $0.wall } }

    /// The steady clock as the test has moved it.
    public var now: ContinuousClock.Instant { state.withLock { $0.steady } }

    /// How many tasks sleep on this clock.
    public var sleepers: Int { state.withLock { $0.sleepers.count } }

    /// Moves both clocks forward and wakes whoever is due.
    public func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.wall = state.wall + duration
            state.steady += duration
            let due = state.sleepers.filter { $0.value.deadline <= state.steady }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Sets the time of day forward or back, as a person or NTP does; nobody wakes.
    public func setWall(by duration: Duration) {
        state.withLock { $0.wall = $0.wall + duration }
    }

    /// Returns when the clock has been moved to the deadline.
    public func sleep(until deadline: ContinuousClock.Instant) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if deadline <= state.steady { return .success(()) }
                    state.sleepers[id] = Sleeper(deadline: deadline, continuation: continuation)
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleepers.removeValue(forKey: id) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}

/// Lets other tasks run until a condition holds; returns whether it came to hold.
///
/// Gives up after ten seconds of real time, so that a failing test ends.
public func eventually(_ condition: () async -> Bool) async -> Bool {
    let limit = ContinuousClock.now + .seconds(10)
    while ContinuousClock.now < limit {
        if await condition() { return true }
        await Task.yield()
    }
    return false
}
