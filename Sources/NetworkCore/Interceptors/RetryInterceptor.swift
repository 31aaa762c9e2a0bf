/// Repeats an attempt after a fault of the connection or a status that promises better, within the
/// budget.
///
/// Calls `next` once for each attempt. A streamed body of a request that is idempotent is kept while
/// it is sent, within the limits, so that it can be sent again.
public struct RetryInterceptor: ReviewingInterceptor {
    private static let start = ContinuousClock.now
    private let policy: RetryPolicy
    /// No status below it is one of the policy's.
    private let leastStatus: Int
    private let budget: RetryBudget
    private let replayLimit: Int
    private let spill: BodySpill?
    private let clock: any NetworkClock

    /// Makes the interceptor.
    ///
    /// - Parameters:
    ///   - policy: which attempts are repeated.
    ///   - budget: how many may be, shared by all that have the same one.
    ///   - replayLimit: how many bytes of a streamed request body are kept for another attempt, where
    ///     the method is idempotent. Default 64 KiB.
    ///   - spill: where longer bodies are kept instead; nothing if they are not.
    ///   - clock: measures the waits between attempts and the budget's seconds.
    public init(
        policy: RetryPolicy,
        budget: RetryBudget,
        replayLimit: Int = 64 * 1024,
        spill: BodySpill? = nil,
        clock: any NetworkClock = SystemClock()
    ) {
        self.policy = policy
        leastStatus = policy.statuses.min() ?? .max
        self.budget = budget
        self.replayLimit = replayLimit
        self.spill = spill
        self.clock = clock
    }

    /// Sends the request, again where the policy allows it.
    public func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        budget.countRequest(now: second)
        guard let source = request.body.readOnceSource else {
            return try await sendAndReview(request, context: &context, next: next)
        }
        var ours = request
        guard request.method.isIdempotent, retryLimit(context) > 0 else {
            ours.body = request.body.watched
            return try await sendAndReview(ours, context: &context, next: next)
        }
        // Reauthorization, which stands further in, uses the same buffer.
        let length = request.body.length
        let buffer = ReplayBuffer(source, length: length, limit: replayLimit, spill: spill)
        ours.body = buffer.body()
        defer { buffer.release() }
        return try await sendAndReview(ours, context: &context, next: next)
    }

    /// Counts the request, if its body needs neither a watch nor a copy.
    package func begin(_ request: borrowing Request, context: inout RequestContext) -> Bool {
        if case .stream = request.body { return false }
        budget.countRequest(now: second)
        return true
    }

    /// Whether no further attempt could promise more.
    package func accepts(
        _ response: borrowing Response,
        context: inout RequestContext
    ) -> Bool {
        let status = response.status.rawValue
        return status < leastStatus || !policy.statuses.contains(status)
    }

    /// Repeats the request while the policy and the budget allow it.
    package func review(
        _ outcome: Result<Response, any Error>,
        of request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        let limit = retryLimit(context)
        var outcome = outcome
        var again = request
        var retries = 0
        while true {
            switch outcome {
            case .success(let response):
                guard retries < limit, mayRepeat(request, response.status),
                    let delay = delay(after: response, retry: retries + 1),
                    fits(delay, context), takeRetry(&context)
                else { return response }
                do {
                    try await pause(delay)
                } catch {
                    response.body.cancel()
                    throw error
                }
                guard let another = request.again() else { return response }
                again = another
                response.body.cancel()
                context.beginNextAttempt(because: .status(response.status))
            case .failure(let fault):
                guard let error = fault as? NetworkError, retries < limit,
                    policy.allowsRetry(of: request, after: error)
                else { throw fault }
                // A pooled connection that was dead already costs no wait, and asks for a new one.
                let isStale = error.retry == .idempotentOnly
                let delay =
                    isStale && retries == 0 ? nil : policy.delay(beforeRetry: retries + 1)
                guard delay.map({ fits($0, context) }) ?? true, takeRetry(&context) else {
                    throw fault
                }
                context.requiresFreshConnection = isStale
                if let delay { try await pause(delay) }
                guard let another = request.again() else { throw error }
                again = another
                context.beginNextAttempt(because: .fault(error.kind))
            }
            retries += 1
            do {
                outcome = .success(try await next.send(again, context: &context))
            } catch {
                outcome = .failure(error)
            }
        }
    }

    /// Takes a retry from the budget, or notes that it is spent.
    private func takeRetry(_ context: inout RequestContext) -> Bool {
        if budget.takeRetry(now: second) { return true }
        context.retries.append(.budgetExhausted)
        return false
    }

    /// How many retries this request may have.
    private func retryLimit(_ context: RequestContext) -> Int {
        context.retryLimit ?? policy.attempts
    }

    private func mayRepeat(_ request: Request, _ status: HTTPStatus) -> Bool {
        policy.statuses.contains(status.rawValue) && request.method.isIdempotent
            && request.body.canBeSentAgain()
    }

    /// How long the origin wants to be left alone, or our own wait; nothing if that is too long.
    private func delay(after response: Response, retry: Int) -> Duration? {
        guard let wanted = RetryAfter.duration(in: response.headers, now: clock.wallNow) else {
            return policy.delay(beforeRetry: retry)
        }
        return wanted <= policy.maximum ? wanted : nil
    }

    /// Whether a wait is over before the exchange must be.
    private func fits(_ delay: Duration, _ context: RequestContext) -> Bool {
        context.deadline.map { clock.now + delay < $0 } ?? true
    }

    /// Waits before the next attempt.
    ///
    /// - Throws: `cancelled`: who gave up is told that, and not what came before.
    private func pause(_ delay: Duration) async throws {
        do { try await clock.sleep(until: clock.now + delay) } catch {
            throw NetworkError.cancelled
        }
    }

    /// The seconds that have passed.
    ///
    /// A division of 128 bits would take longer than the rest: 2⁴⁰ attoseconds are 1.1 µs, of which
    /// 909 495 make a second, but for a third of a millionth of it.
    private var second: Int {
        let elapsed = RetryInterceptor.start.duration(to: clock.now)
        return Int(truncatingIfNeeded: elapsed.attoseconds >> 40) / 909_495
    }
}
