import Synchronization

/// The rules for retries: which failures, how often, and after which delay.
///
///     channel.retry = RetryPolicy(retries: 3, statuses: [429, 503], maximum: .seconds(10))
///
/// The policy is a value, and the interceptor only acts on it.
public struct RetryPolicy: Sendable {
    /// The maximum number of retries of a request.
    ///
    /// Default 2.
    public var retries: Int
    /// The statuses to retry, for idempotent requests only.
    ///
    /// Default 502, 503, 504.
    public var statuses: Set<Int>
    /// The methods that are repeated as if they were idempotent, such as POST for an API that only reads.
    ///
    /// For a single request, set the field `Idempotency-Key`. Default none.
    public var methods: Set<HTTPMethod>
    /// The upper bound of the first delay, which is random; the bound doubles with each retry.
    ///
    /// Default 100 ms.
    public var base: Duration
    /// The longest delay; if `Retry-After` demands more, there is no retry.
    ///
    /// Default 2 s.
    public var maximum: Duration

    /// Creates a policy; without arguments, the default one.
    ///
    /// - Parameters:
    ///   - retries: the maximum number of retries of a request.
    ///   - statuses: the statuses to retry.
    ///   - methods: the methods that are repeated as if they were idempotent.
    ///   - base: the upper bound of the first delay.
    ///   - maximum: the longest delay.
    public init(
        retries: Int = 2,
        statuses: Set<Int> = [502, 503, 504],
        methods: Set<HTTPMethod> = [],
        base: Duration = .milliseconds(100),
        maximum: Duration = .seconds(2)
    ) {
        self.retries = retries
        self.statuses = statuses
        self.methods = methods
        self.base = base
        self.maximum = maximum
    }

    /// Whether a request may be repeated although the server may have processed it.
    func mayRepeat(_ request: borrowing Request) -> Bool {
        request.method.isIdempotent || !methods.isEmpty && methods.contains(request.method)
            || request.isIdempotent
    }

    /// Returns the delay before the next attempt, with full jitter over an exponential window.
    public func delay(beforeRetry number: Int) -> Duration {
        let window = min(base * (1 << min(max(number - 1, 0), 16)), maximum)
        return window * Double.random(in: 0...1)
    }

    /// Whether a failed attempt may be retried.
    ///
    /// A retry requires an idempotent request, or one that the server cannot have processed (RFC 9110
    /// §9.2.2). It
    /// also requires the body: an attempt may have consumed a stream, unless a `ReplayBuffer` keeps it.
    public func allowsRetry(of request: Request, after error: NetworkError) -> Bool {
        guard error.kind != .cancelled,
            (error.retry == .safe
                ? request.body.canBeSentAfterNothing : request.body.canBeSentAgain)
        else { return false }
        switch error.retry {
        case .safe:
            // A downstream error would recur, and so would a certificate error. A failed handshake may be due
            // to a server
            // that is shutting down; HAProxy's retry-on includes it, too.
            return error.side == .upstream && error.kind != .tlsCertificateError
        case .idempotentOnly: return mayRepeat(request)
        case .unsafe: return error.kind == .connectionTerminated && mayRepeat(request)
        }
    }
}

/// A further attempt that a policy allows.
struct Retry {
    /// The outcome of the previous attempt.
    let reason: RetryReason
    /// The wait before the attempt; `nil` for none.
    let delay: Duration?
    /// Whether the attempt must not use a pooled connection.
    let needsFreshConnection: Bool
    /// Whether the retry is not charged to the budget.
    ///
    /// A stale pooled connection has put no load on the server, and all connections of a pool may fail
    /// together.
    var isFree: Bool { needsFreshConnection && delay == nil }
}

extension RetryPolicy {
    /// Returns the retry with this number, starting at 1, if the outcome before it allows one.
    func retry(
        _ number: Int,
        of request: Request,
        after outcome: Result<Response, any Error>,
        at now: UnixTime
    ) -> Retry? {
        switch outcome {
        case .success(let response):
            guard statuses.contains(response.status.rawValue), mayRepeat(request),
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
            // Retry a stale pooled connection immediately, on a new connection.
            let isStale = error.retry == .idempotentOnly
            return Retry(
                reason: .fault(error.kind),
                delay: isStale && number == 1 ? nil : delay(beforeRetry: number),
                needsFreshConnection: isStale
            )
        }
    }
}

/// The limit on a channel's retries: a share of its requests in the last ten seconds, or ten per second.
///
/// Shared by all loops.
public final class RetryBudget: Sendable {
    private struct Window {
        /// The position of the latest second in the ring of ten.
        var slot = 0
        var requests = [Int](repeating: 0, count: 10)
        var retries = [Int](repeating: 0, count: 10)
        private var latest: Int?

        /// Advances to a second; an earlier one counts as the latest.
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

    /// Returns the number of a second, as the budget counts.
    ///
    /// Avoids a slow 128-bit division: 2⁴⁰ attoseconds are 1.1 µs, and 909,495 of these make a second, with
    /// an error
    /// of a third of a millionth.
    static func second(at instant: ContinuousClock.Instant) -> Int {
        Int(truncatingIfNeeded: start.duration(to: instant).attoseconds >> 40) / 909_495
    }

    private static let start = ContinuousClock.now

    /// Creates a budget; a `share` of 0.2 is 20 % of the requests.
    public init(share: Double = 0.2) {
        self.share = share
    }

    /// Counts a request; `now` is in seconds of any clock, and earlier values count as the latest one.
    public func countRequest(now: Int) {
        window.withLock { window in
            window.advance(to: now)
            window.requests[window.slot] += 1
        }
    }

    /// Takes one retry from the budget, and returns whether one was left.
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
