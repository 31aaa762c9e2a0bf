/// Repeats an attempt after a fault of the connection or a status that promises better, within the
/// budget.
///
/// Calls `next` once for each attempt.
public struct RetryInterceptor: RequestInterceptor {
    private static let start = ContinuousClock.now
    private let policy: RetryPolicy
    private let budget: RetryBudget

    /// Makes the interceptor.
    public init(policy: RetryPolicy, budget: RetryBudget) {
        self.policy = policy
        self.budget = budget
    }

    /// Sends the request, again where the policy allows it.
    public func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        budget.countRequest(now: second)
        var retries = 0
        while true {
            do {
                let response = try await next.send(request, context: &context)
                guard mayRepeat(request, response.status, retries: retries),
                    let delay = delay(after: response, retry: retries + 1),
                    budget.takeRetry(now: second),
                    await pause(delay, &context)
                else { return response }
                response.body.cancel()
                context.beginNextAttempt(because: .status(response.status))
            } catch let error as NetworkError {
                guard retries < policy.attempts, policy.allowsRetry(of: request, after: error),
                    budget.takeRetry(now: second)
                else { throw error }
                // A pooled connection that was dead already costs no wait, and asks for a new one.
                let isStale = error.retry == .idempotentOnly
                context.requiresFreshConnection = isStale
                if !isStale || retries > 0 {
                    guard await pause(policy.delay(beforeRetry: retries + 1), &context) else {
                        throw error
                    }
                }
                context.beginNextAttempt(because: .fault(error.kind))
            }
            retries += 1
        }
    }

    private func mayRepeat(_ request: Request, _ status: HTTPStatus, retries: Int) -> Bool {
        policy.statuses.contains(status.rawValue) && retries < policy.attempts
            && request.method.isIdempotent && request.body.isReplayable
    }

    /// How long the origin wants to be left alone, or our own wait; nothing if that is too long.
    private func delay(after response: Response, retry: Int) -> Duration? {
        let now = SystemClock().wallNow
        guard let wanted = RetryAfter.duration(in: response.headers, now: now) else {
            return policy.delay(beforeRetry: retry)
        }
        return wanted <= policy.maximum ? wanted : nil
    }

    private func pause(_ delay: Duration, _ context: inout RequestContext) async -> Bool {
        if let deadline = context.deadline, ContinuousClock.now + delay >= deadline { return false }
        do {
            try await Task.sleep(for: delay)
            return true
        } catch {
            return false
        }
    }

    private var second: Int {
        Int(RetryInterceptor.start.duration(to: .now).components.seconds)
    }
}
