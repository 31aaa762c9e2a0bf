import Synchronization

/// The time of day as a server has it, learned from the `Date` of its answers.
///
/// What a server judges by its own clock, such as the issue time of an assertion, is stamped with it:
/// a machine whose clock is wrong can sign in all the same. A difference within what `Date` and the
/// way can blur counts as none.
public final class ServerClock: Sendable {
    /// `Date` has whole seconds, and the answer took a while.
    private static let blur = Duration.seconds(5)

    private let clock: any NetworkClock
    private let difference = Mutex(Duration.zero)

    /// Makes a clock that agrees with ours until it learns better.
    public init(clock: any NetworkClock = SystemClock()) {
        self.clock = clock
    }

    /// How far the server's clock is ahead of ours; negative if it is behind.
    public var offset: Duration { difference.withLock { $0 } }

    /// The time of day as the server has it.
    public var now: UnixTime { clock.wallNow + offset }

    /// Learns from an answer that has just come; one without a `Date` that makes sense says nothing,
    /// nor does one that a cache kept for a while (`Age`, RFC 9111 §5.1): its date is an old one.
    public func learn(from headers: HTTPHeaders) {
        guard (headers[.age] ?? "0") == "0" else { return }
        guard let date = headers[.date].flatMap(RetryAfter.date) else { return }
        let seen = date - clock.wallNow
        let isBlur = seen < Self.blur && .zero - seen < Self.blur
        difference.withLock { $0 = isBlur ? .zero : seen }
    }
}
