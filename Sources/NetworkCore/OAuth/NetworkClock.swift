import FoundationEssentials

/// Time as the token engine needs it; tests put in a clock of their own.
public protocol NetworkClock: Sendable {
    /// An instant that goes on while the machine sleeps.
    var now: ContinuousClock.Instant { get }
    /// Seconds since 1970, as persisted.
    var wallNow: Double { get }
    /// Returns at the instant, or when the task is cancelled.
    ///
    /// - Throws: `CancellationError`.
    func sleep(until instant: ContinuousClock.Instant) async throws
}

/// The clocks of the system.
public struct SystemClock: NetworkClock {
    /// Makes the clock.
    public init() {}
    /// CLOCK_BOOTTIME, which goes on in suspend.
    public var now: ContinuousClock.Instant { .now }
    /// The wall clock.
    public var wallNow: Double { Date().timeIntervalSince1970 }
    /// Sleeps on the system's clock.
    public func sleep(until instant: ContinuousClock.Instant) async throws {
        try await Task.sleep(until: instant, clock: .continuous)
    }
}
