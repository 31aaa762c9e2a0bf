/// Retries an attempt after a connection failure or a retryable status, within the budget.
///
/// Calls `next` once for each attempt. A streamed body of a request that may be repeated is kept while it is sent,
/// within
/// the limits, so that it can be sent again.
public struct RetryInterceptor: RequestInterceptor {
    private let policy: RetryPolicy
    private let budget: RetryBudget
    private let replayLimit: Int
    private let spill: BodySpill?
    private let clock: any NetworkClock
    /// The lowest status that the policy retries.
    private let leastStatus: Int

    /// Creates the interceptor.
    ///
    /// - Parameters:
    ///   - policy: the attempts to retry.
    ///   - budget: the limit on retries, shared by all interceptors with the same budget.
    ///   - replayLimit: the maximum number of bytes of a streamed request body to keep for another attempt,
    ///     if the
    ///     method is idempotent. Default 64 KiB.
    ///   - spill: the store for longer bodies; `nil` if they are not kept.
    ///   - clock: the clock for the waits between attempts and for the budget.
    public init(
        policy: RetryPolicy,
        budget: RetryBudget,
        replayLimit: Int = 64 * 1024,
        spill: BodySpill? = nil,
        clock: any NetworkClock = SystemClock()
    ) {
        self.policy = policy
        self.budget = budget
        self.replayLimit = replayLimit
        self.spill = spill
        self.clock = clock
        leastStatus = policy.statuses.min() ?? .max
    }

    /// Sends the request, and retries it according to the policy.
    public func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        // If the chain made the first attempt, it has already counted the request.
        if !next.hasFirstOutcome { budget.countRequest(now: second) }
        let limit = context.retryLimit ?? policy.retries
        var request = request
        var buffer: ReplayBuffer?
        if limit > 0, policy.mayRepeat(request) {
            // Reauthorization, further inside, uses the same buffer.
            let length = request.body.length
            buffer = request.keepBody(upTo: replayLimit, spill: spill, length: length)
        } else {
            request.body = request.body.watched
        }
        defer { buffer?.release() }
        var attempt = request
        var retries = 0
        while true {
            let outcome: Result<Response, any Error>
            do {
                outcome = .success(try await next.send(attempt, context: &context))
            } catch {
                outcome = .failure(error)
            }
            if case .success(let response) = outcome, accepts(response) { return response }
            guard retries < limit,
                let retry = policy.retry(
                    retries + 1,
                    of: request,
                    after: outcome,
                    at: clock.wallNow
                ),
                fits(retry.delay, context), retry.isFree || takeRetry(&context)
            else { return try outcome.get() }
            context.requiresFreshConnection = retry.needsFreshConnection
            try await pause(retry.delay, after: outcome)
            guard let another = request.again() else { return try outcome.get() }
            if case .success(let response) = outcome { response.body.cancel() }
            context.beginNextAttempt(because: retry.reason)
            attempt = another
            retries += 1
        }
    }

    /// Counts a request whose body needs no tracking and no copy, and returns whether this was one.
    ///
    /// The chain can then send it first.
    func begin(_ request: borrowing Request) -> Bool {
        if case .stream = request.body { return false }
        budget.countRequest(now: second)
        return true
    }

    /// Whether the policy does not retry the status.
    func accepts(_ response: borrowing Response) -> Bool {
        let status = response.status.rawValue
        return status < leastStatus || !policy.statuses.contains(status)
    }

    /// Takes a retry from the budget and returns whether one was left; if not, records that in the context.
    private func takeRetry(_ context: inout RequestContext) -> Bool {
        if budget.takeRetry(now: second) { return true }
        context.retries.append(.budgetExhausted)
        return false
    }

    /// Whether a wait ends before the deadline of the exchange.
    private func fits(_ delay: Duration?, _ context: RequestContext) -> Bool {
        guard let delay, let deadline = context.deadline else { return true }
        return clock.now + delay < deadline
    }

    /// Waits before the next attempt.
    ///
    /// - Throws: `cancelled`, regardless of the previous outcome.
    private func pause(
        _ delay: Duration?,
        after outcome: Result<Response, any Error>
    ) async throws {
        guard let delay else { return }
        do {
            try await clock.sleep(until: clock.now + delay)
        } catch {
            if case .success(let response) = outcome { response.body.cancel() }
            throw NetworkError.cancelled
        }
    }

    private var second: Int { RetryBudget.second(at: clock.now) }
}
