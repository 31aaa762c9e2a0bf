import Synchronization

/// The time of day as a server has it, learned from the `Date` of its answers.
///
/// What a server judges by its own clock, such as the issue time of an assertion, is stamped with it:
/// a machine whose clock is wrong can sign in all the same. A difference within what `Date` and the
/// way can blur counts as none.
public final class ServerClock: Sendable {
    /// `Date` has whole seconds, and the answer took a while.
    package static let blur = Duration.seconds(5)

    private let clock: any NetworkClock
    /// What the server's clock showed last, and when, by the clock that cannot be set.
    private let seen = Mutex<(date: UnixTime, at: ContinuousClock.Instant)?>(nil)

    /// Makes a clock that agrees with ours until it learns better.
    public init(clock: any NetworkClock = SystemClock()) {
        self.clock = clock
    }

    /// How far the server's clock is ahead of ours, whatever happened to ours since it was seen;
    /// negative if it is behind.
    public var offset: Duration {
        guard let seen = seen.withLock({ $0 }) else { return .zero }
        let offset = seen.date + (clock.now - seen.at) - clock.wallNow
        return max(offset, .zero - offset) < Self.blur ? .zero : offset
    }

    /// The time of day as the server has it.
    public var now: UnixTime { clock.wallNow + offset }

    /// Learns from an answer that has just come; one without a valid `Date` is ignored,
    /// nor does one that a cache kept for a while (`Age`, RFC 9111 §5.1): its date is an old one.
    public func learn(from headers: HTTPHeaders) {
        guard (headers[.age] ?? "0") == "0" else { return }
        guard let date = headers[.date].flatMap({ RetryAfter.date($0) }) else { return }
        let now = clock.now
        seen.withLock { seen in
            // `Date` leaves out what is less than a second: an earlier answer may have come closer.
            if let known = seen.map({ $0.date + (now - $0.at) }), known > date,
                known < date + .seconds(1)
            {
                return
            }
            seen = (date, now)
        }
    }
}
