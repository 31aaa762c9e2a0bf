/// The two clocks that a credential's lifetime is measured by, and the only way to wait.
///
/// A program uses `SystemClock`; a test moves its own clock by hand.
public protocol NetworkClock: Sendable {
    /// The time of day. It survives a restart, and can be set.
    var wallNow: UnixTime { get }

    /// A clock that cannot be set and that continues while the machine sleeps.
    var now: ContinuousClock.Instant { get }

    /// Returns at the deadline.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before.
    func sleep(until deadline: ContinuousClock.Instant) async throws
}

extension NetworkClock {
    /// Both clocks at once.
    public var moment: Moment { Moment(wall: wallNow, steady: now) }
}

/// A time of day, in seconds since 1970-01-01 00:00 UTC.
public struct UnixTime: Sendable, Hashable, Comparable {
    /// Seconds since 1970-01-01 00:00 UTC.
    public var secondsSinceEpoch: Double

    /// Makes a time of day.
    public init(secondsSinceEpoch: Double) {
        self.secondsSinceEpoch = secondsSinceEpoch
    }

    /// Whether the first is earlier.
    public static func < (left: UnixTime, right: UnixTime) -> Bool {
        left.secondsSinceEpoch < right.secondsSinceEpoch
    }

    /// The time after a duration.
    public static func + (time: UnixTime, duration: Duration) -> UnixTime {
        UnixTime(secondsSinceEpoch: time.secondsSinceEpoch + duration.seconds)
    }

    /// The time from the second to the first; negative if the first is earlier.
    public static func - (left: UnixTime, right: UnixTime) -> Duration {
        .seconds(left.secondsSinceEpoch - right.secondsSinceEpoch)
    }
}

/// An instant on both clocks.
///
/// As a deadline it is over when either clock says so: the steady one is right when the time of
/// day is set back, the time of day is right after a restart.
public struct Moment: Sendable, Hashable {
    /// On the clock that shows the time of day.
    public var wall: UnixTime
    /// On the clock that cannot be set.
    public var steady: ContinuousClock.Instant

    /// Makes a moment.
    public init(wall: UnixTime, steady: ContinuousClock.Instant) {
        self.wall = wall
        self.steady = steady
    }

    /// Later than any deadline.
    package static let never = Moment(
        wall: UnixTime(secondsSinceEpoch: .infinity),
        steady: ContinuousClock.now + .seconds(1 << 40)
    )

    /// The moment after a duration on both clocks.
    public static func + (moment: Moment, duration: Duration) -> Moment {
        Moment(wall: moment.wall + duration, steady: moment.steady + duration)
    }

    /// Whether this deadline is reached or over at an instant, by either clock.
    @inline(__always)
    public func isReached(at now: Moment) -> Bool {
        now.steady >= steady || now.wall >= wall
    }

    /// The time from an instant to this deadline, by the clock that shows less.
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
