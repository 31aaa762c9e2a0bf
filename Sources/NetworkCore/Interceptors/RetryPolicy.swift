import Synchronization

/// Which failures are worth another attempt, how many, and how long to wait: a value, so that the
/// interceptor only acts.
public struct RetryPolicy: Sendable {
    /// How many attempts beyond the first.
    ///
    /// Default 2.
    public var attempts = 2
    /// Statuses that are repeated, for idempotent methods only.
    ///
    /// Default 502, 503, 504.
    public var statuses: Set<Int> = [502, 503, 504]
    /// The first wait is random between nothing and this; it doubles.
    ///
    /// Default 100 ms.
    public var base: Duration = .milliseconds(100)
    /// No wait is longer: where `Retry-After` asks for more, nothing is repeated.
    ///
    /// Default 2 s.
    public var maximum: Duration = .seconds(2)

    /// The defaults.
    public init() {}

    /// How long to wait before the next attempt: full jitter over an exponential window.
    public func delay(beforeRetry number: Int) -> Duration {
        let window = min(base * (1 << min(max(number - 1, 0), 16)), maximum)
        return window * Double.random(in: 0...1)
    }

    /// Whether a failed attempt may be made again.
    ///
    /// RFC 9110 §9.2.2: without being told only what is idempotent, or what cannot have been acted on.
    /// And only with a body that is still there: the attempt may have read what was streamed, unless a
    /// `ReplayBuffer` keeps it.
    public func allowsRetry(of request: Request, after error: NetworkError) -> Bool {
        guard error.kind != .cancelled,
            request.body.canBeSentAgain(ifUnknown: error.retry == .safe)
        else { return false }
        switch error.retry {
        case .safe:
            // What the app's own side got wrong stays wrong, and so does a certificate. A handshake that
            // failed may have met a server that is just ending: HAProxy's retry-on has it, too.
            return error.side == .upstream && error.kind != .tlsCertificateError
        case .idempotentOnly: return request.method.isIdempotent
        case .unsafe:
            return error.kind == .connectionTerminated && request.method.isIdempotent
        }
    }
}

/// How many retries a channel may make: a share of its requests over the last ten seconds, and ten
/// a second in any case.
///
/// Shared by all loops.
public final class RetryBudget: Sendable {
    private struct Window {
        /// The latest second, in its place among ten.
        var slot = 0
        var requests = [Int](repeating: 0, count: 10)
        var retries = [Int](repeating: 0, count: 10)
        private var latest: Int?

        /// Goes on to a second; one that is past counts as the latest.
        mutating func advance(to now: Int) {
            let latest = latest ?? now
            self.latest = max(latest, now)
            guard now > latest else { return }
            let (elapsed, isHuge) = now.subtractingReportingOverflow(latest)
            for _ in 0..<(isHuge ? 10 : min(elapsed, 10)) {
                slot = (slot + 1) % 10
                requests[slot] = 0
                retries[slot] = 0
            }
        }
    }

    private let share: Double
    private let window = Mutex(Window())

    /// Makes a budget; `share` 0.2 is 20 % of the requests.
    public init(share: Double = 0.2) {
        self.share = share
    }

    /// Counts a request; `now` is in seconds of any clock, and one that goes back stands still here.
    public func countRequest(now: Int) {
        window.withLock { window in
            window.advance(to: now)
            window.requests[window.slot] += 1
        }
    }

    /// Takes one retry from the budget, if there is one.
    public func takeRetry(now: Int) -> Bool {
        window.withLock { window in
            window.advance(to: now)
            let allowed =
                window.retries[window.slot] < 10
                || Double(window.retries.reduce(0, +))
                    < share * Double(window.requests.reduce(0, +))
            if allowed { window.retries[window.slot] += 1 }
            return allowed
        }
    }
}
