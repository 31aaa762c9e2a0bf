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

    /// Waits until the deadline.
    public func sleep(until deadline: ContinuousClock.Instant) async throws {
        while true {
            let latest = now + SystemClock.longestSleep
            try await ContinuousClock().sleep(until: min(deadline, latest), tolerance: nil)
            if deadline <= latest { return }
        }
    }
}
