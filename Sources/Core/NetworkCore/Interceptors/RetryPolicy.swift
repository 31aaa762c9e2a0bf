import Synchronization

/// Which failures are retried, how often, and after which wait: a value, so that the interceptor
/// only acts.
public struct RetryPolicy: Sendable {
    /// The maximum number of retries of a request.
    ///
    /// Default 2.
    public var retries = 2
    /// Statuses that are repeated, for idempotent methods only.
    ///
    /// Default 502, 503, 504.
    public var statuses: Set<Int> = [502, 503, 504]
    /// The first wait is random between zero and this; it doubles.
    ///
    /// Default 100 ms.
    public var base: Duration = .milliseconds(100)
    /// The longest wait: where `Retry-After` asks for more, there is no retry.
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
            (error.retry == .safe
                ? request.body.canBeSentAfterNothing : request.body.canBeSentAgain)
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

/// A further attempt that a policy allows.
struct Retry {
    /// The outcome of the attempt before.
    let reason: RetryReason
    /// The wait before the attempt; `nil` for none.
    let delay: Duration?
    /// Whether the attempt must not use a pooled connection.
    let needsFreshConnection: Bool
    /// Whether it is made without the budget: a pooled connection that was dead already has put no load
    /// on the server, and all of a pool may die at once.
    var isFree: Bool { needsFreshConnection && delay == nil }
}

extension RetryPolicy {
    /// Returns the retry with this number, from 1, if the outcome before it calls for one.
    func retry(
        _ number: Int,
        of request: Request,
        after outcome: Result<Response, any Error>,
        at now: UnixTime
    ) -> Retry? {
        switch outcome {
        case .success(let response):
            guard statuses.contains(response.status.rawValue), request.method.isIdempotent,
                request.body.canBeSentAgain
            else { return nil }
            let wanted = RetryAfter.duration(in: response.headers, now: now)
            if let wanted, wanted > maximum { return nil }
            return Retry(
                reason: .status(response.status),
                delay: wanted ?? delay(beforeRetry: number),
                needsFreshConnection: false
            )
        case .failure(let fault):
            guard let error = fault as? NetworkError, allowsRetry(of: request, after: error)
            else { return nil }
            // A pooled connection that was dead already costs no wait, and asks for a new one.
            let isStale = error.retry == .idempotentOnly
            return Retry(
                reason: .fault(error.kind),
                delay: isStale && number == 1 ? nil : delay(beforeRetry: number),
                needsFreshConnection: isStale
            )
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

    /// The number of a second, as the budget counts.
    ///
    /// A division of 128 bits would take longer than the rest: 2⁴⁰ attoseconds are 1.1 µs, of which
    /// 909 495 make a second, but for a third of a millionth of it.
    static func second(at instant: ContinuousClock.Instant) -> Int {
        Int(truncatingIfNeeded: start.duration(to: instant).attoseconds >> 40) / 909_495
    }

    private static let start = ContinuousClock.now

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
