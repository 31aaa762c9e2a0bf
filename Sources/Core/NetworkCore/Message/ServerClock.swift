import Synchronization

/// The time of day on a server's clock, derived from the `Date` of its responses.
///
/// It is used for values that a server checks against its own clock, such as the issue time of an assertion,
/// so
/// that a machine with a wrong clock can sign in. A difference smaller than `blur` counts as none.
public final class ServerClock: Sendable {
    /// The largest ignored difference; `Date` has whole seconds, and the response takes time to arrive.
    package static let blur = Duration.seconds(5)

    /// The largest accepted difference: a machine whose clock is further off finds no certificate valid.
    package static let reach = Duration.seconds(24 * 3600)

    private let clock: any NetworkClock
    /// The last time on the server's clock, and the time of its arrival on the monotonic clock.
    private let seen = Mutex<(date: UnixTime, at: ContinuousClock.Instant)?>(nil)

    /// Creates a clock that agrees with the local clock until it sees a response.
    public init(clock: any NetworkClock = SystemClock()) {
        self.clock = clock
    }

    /// The difference between the server's clock and the local clock; negative if the server's is behind.
    ///
    /// It stays correct if the local clock is set after the last response.
    public var offset: Duration {
        guard let seen = seen.withLock({ $0 }) else { return .zero }
        let offset = seen.date + (clock.now - seen.at) - clock.wallNow
        return max(offset, .zero - offset) < Self.blur ? .zero : offset
    }

    /// The time of day on the server's clock.
    public var now: UnixTime { clock.wallNow + offset }

    /// Updates the clock from a response that has just arrived.
    ///
    /// Ignores a response without a valid `Date`, and one that a cache has stored (`Age`, RFC 9111 §5.1),
    /// because its date is old. Also ignores a date further off than a day, which would set the times of
    /// signed tokens.
    public func learn(from headers: HTTPHeaders) {
        guard (headers[.age] ?? "0") == "0" else { return }
        guard let date = headers[.date].flatMap({ RetryAfter.date($0) }) else { return }
        let distance = date - clock.wallNow
        guard max(distance, .zero - distance) <= Self.reach else { return }
        let now = clock.now
        seen.withLock { seen in
            // `Date` omits fractions of a second, so an earlier response may have been more accurate.
            if let known = seen.map({ $0.date + (now - $0.at) }), known > date,
                known < date + .seconds(1)
            {
                return
            }
            seen = (date, now)
        }
    }
}
