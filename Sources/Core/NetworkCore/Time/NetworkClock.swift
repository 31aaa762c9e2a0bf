/// The two clocks that measure a credential's lifetime, and the only way to wait.
///
/// A program uses `SystemClock`; a test moves its own clock by hand.
public protocol NetworkClock: Sendable {
    /// The time of day, which survives a restart and can be set.
    var wallNow: UnixTime { get }

    /// The time on a clock that cannot be set and that continues while the machine sleeps.
    var now: ContinuousClock.Instant { get }

    /// Waits until the deadline.
    ///
    /// - Throws: `CancellationError` if the task is canceled earlier.
    func sleep(until deadline: ContinuousClock.Instant) async throws
}

extension NetworkClock {
    /// The current time on both clocks.
    public var moment: Moment { Moment(wall: wallNow, steady: now) }
}

/// A time of day, in seconds since 1970-01-01 00:00 UTC.
public struct UnixTime: Sendable, Hashable, Comparable {
    /// Seconds since 1970-01-01 00:00 UTC.
    public var secondsSinceEpoch: Double

    /// Creates a time of day.
    public init(secondsSinceEpoch: Double) {
        self.secondsSinceEpoch = secondsSinceEpoch
    }

    /// Whether the first time is earlier.
    public static func < (left: UnixTime, right: UnixTime) -> Bool {
        left.secondsSinceEpoch < right.secondsSinceEpoch
    }

    /// Returns the time after a duration.
    public static func + (time: UnixTime, duration: Duration) -> UnixTime {
        UnixTime(secondsSinceEpoch: time.secondsSinceEpoch + duration.seconds)
    }

    /// Returns the time from the second to the first; negative if the first is earlier.
    public static func - (left: UnixTime, right: UnixTime) -> Duration {
        .seconds(left.secondsSinceEpoch - right.secondsSinceEpoch)
    }
}

/// An instant on both clocks.
///
/// A deadline passes as soon as either clock reaches it: the monotonic clock is right if the time of day is
/// set
/// back, and the time of day is right after a restart.
public struct Moment: Sendable, Hashable {
    /// The time on the clock with the time of day.
    public var wall: UnixTime
    /// The time on the clock that cannot be set.
    public var steady: ContinuousClock.Instant

    /// Creates a moment.
    public init(wall: UnixTime, steady: ContinuousClock.Instant) {
        self.wall = wall
        self.steady = steady
    }

    /// A moment later than any deadline.
    package static let never = Moment(
        wall: UnixTime(secondsSinceEpoch: .infinity),
        steady: ContinuousClock.now + .seconds(1 << 40)
    )

    /// Returns the moment after a duration on both clocks.
    public static func + (moment: Moment, duration: Duration) -> Moment {
        Moment(wall: moment.wall + duration, steady: moment.steady + duration)
    }

    /// Whether an instant has reached this deadline on either clock.
    @inline(__always)
    public func isReached(at now: Moment) -> Bool {
        now.steady >= steady || now.wall >= wall
    }

    /// Returns the time from an instant to this deadline, by the clock that shows less.
    public func remaining(at now: Moment) -> Duration {
        min(steady - now.steady, wall - now.wall)
    }
}

extension Duration {
    /// The length in seconds.
    package var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }

    /// The length in whole seconds, rounded up, for `Retry-After`.
    package var wholeSeconds: Int { Int(seconds.rounded(.up)) }
}
