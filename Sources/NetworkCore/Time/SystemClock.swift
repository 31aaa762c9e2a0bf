import FoundationEssentials

/// The clocks of the machine.
///
/// `ContinuousClock` reads `CLOCK_BOOTTIME` on Linux, which goes on while the machine is suspended.
public struct SystemClock: NetworkClock {
    /// Makes one; all are alike.
    public init() {}

    /// The time of day as the machine has it.
    public var wallNow: UnixTime {
        UnixTime(secondsSinceEpoch: Date().timeIntervalSince1970)
    }

    /// The time since the machine started, sleep included.
    public var now: ContinuousClock.Instant { ContinuousClock.now }

    /// Returns at the deadline.
    public func sleep(until deadline: ContinuousClock.Instant) async throws {
        try await ContinuousClock().sleep(until: deadline, tolerance: nil)
    }
}
