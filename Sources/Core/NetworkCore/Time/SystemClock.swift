import FoundationEssentials

/// The system clocks.
///
/// `ContinuousClock` reads `CLOCK_BOOTTIME` on Linux, which continues while the machine is suspended.
public struct SystemClock: NetworkClock {
    /// The longest single sleep, ten years; the system's timers trap on a deadline some centuries away.
    private static let longestSleep = Duration.seconds(10 * 365 * 24 * 60 * 60)

    /// Creates a clock; all are alike.
    public init() {}

    /// The time of day on this machine.
    public var wallNow: UnixTime {
        UnixTime(secondsSinceEpoch: Date().timeIntervalSince1970)
    }

    /// The time since the machine started, including sleep.
    public var now: ContinuousClock.Instant { ContinuousClock.now }

    /// Waits until the deadline, and a moment longer if the process or the machine stood still meanwhile.
    public func sleep(until deadline: ContinuousClock.Instant) async throws {
        let start = now
        var latest = now + SystemClock.longestSleep
        while latest < deadline {
            try await ContinuousClock().sleep(until: latest, tolerance: nil)
            latest = now + SystemClock.longestSleep
        }
        try await ContinuousClock().sleep(until: deadline, tolerance: nil)
        let pause = SystemClock.catchUp(after: deadline, begun: start, at: now)
        if pause > .zero { try await ContinuousClock().sleep(for: pause, tolerance: nil) }
    }

    /// Returns the time in which events that arrived during a standstill are processed, before a wait that
    /// ended during it counts as timed out.
    ///
    /// Only a standstill, such as SIGSTOP or a suspended machine, delays the end of a wait by a second. A
    /// deadline that had passed when the wait began is no standstill.
    static func catchUp(
        after deadline: ContinuousClock.Instant,
        begun start: ContinuousClock.Instant,
        at now: ContinuousClock.Instant
    ) -> Duration {
        now - max(deadline, start) >= .seconds(1) ? .seconds(1) : .zero
    }
}
