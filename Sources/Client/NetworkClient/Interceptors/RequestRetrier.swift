/// The outcome of an attempt.
public enum AttemptOutcome: Sendable {
    /// A response, whose content has not been read yet.
    case response(HTTPStatus, HTTPHeaders)
    /// An error.
    case failure(NetworkError)
}

/// The decision about another attempt.
public enum RetryDecision: Sendable, Hashable {
    /// No other attempt; the outcome is final.
    case doNotRetry
    /// Another attempt, after a delay.
    case retry(after: Duration)

    /// Another attempt, immediately.
    public static var retry: RetryDecision { .retry(after: .zero) }
}

/// Decides about retries: the second half of an interceptor.
///
///     struct TooManyRequests: RequestRetrier {
///         func decide(
///             on request: Request,
///             after outcome: AttemptOutcome,
///             attempts: Int
///         ) async -> RetryDecision {
///             guard case .response(429, let headers) = outcome else { return .doNotRetry }
///             return .retry(after: headers.retryAfter() ?? .seconds(1))
///         }
///     }
///     channel.interceptors = [RetryingInterceptor(TooManyRequests(), limit: 3)]
public protocol RequestRetrier: Sendable {
    /// Decides about another attempt.
    ///
    /// - Parameters:
    ///   - request: the request that the retrier received.
    ///   - outcome: the outcome of the attempt.
    ///   - attempts: the number of attempts so far.
    /// - Returns: the decision, which has an effect only if the body can be sent again.
    func decide(
        on request: Request,
        after outcome: AttemptOutcome,
        attempts: Int
    ) async -> RetryDecision
}

/// An interceptor that runs a retrier; it calls `next` up to `limit` times.
///
/// A consumed body is not sent again: a streamed body ends the attempts, unless none of it was sent, it is a
/// `RepeatableBodySource`, or a `ReplayBuffer` keeps it.
public struct RetryingInterceptor<Retrier: RequestRetrier>: RequestInterceptor {
    private let retrier: Retrier
    private let limit: Int
    private let clock: any NetworkClock

    /// Creates the interceptor.
    ///
    /// - Parameters:
    ///   - retrier: the retrier.
    ///   - limit: the maximum number of attempts.
    ///   - clock: the clock that measures the waits.
    public init(_ retrier: Retrier, limit: Int = 3, clock: any NetworkClock = SystemClock()) {
        self.retrier = retrier
        self.limit = limit
        self.clock = clock
    }

    /// Sends the request, and retries it as the retrier decides.
    public func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        var attempts = 0
        // The limit of a call can lower the retrier's limit but not raise it.
        let most = context.retryLimit.map { $0 < limit ? max($0, 0) + 1 : limit } ?? limit
        var request = request
        // An inner interceptor may read the body, and fail before it sends its own second attempt.
        request.body = request.body.watched
        var again = request
        while true {
            attempts += 1
            let result: Result<Response, NetworkError>
            do {
                result = .success(try await next.send(again, context: &context))
            } catch let error as NetworkError {
                result = .failure(error)
            }
            guard attempts < most, !isCancelled(result), request.body.canBeSentAgain,
                case .retry(let delay) = await retrier.decide(
                    on: request,
                    after: RetryingInterceptor.outcome(result),
                    attempts: attempts
                ), context.deadline.map({ clock.now + delay < $0 }) ?? true,
                let another = request.again()
            else { return try result.get() }
            again = another
            switch result {
            case .success(let response):
                response.body.cancel()
                context.beginNextAttempt(because: .status(response.status))
            case .failure(let error):
                context.requiresFreshConnection = error.retry == .idempotentOnly
                context.beginNextAttempt(because: .fault(error.kind))
            }
            if delay > .zero { try await clock.sleep(until: clock.now + delay) }
        }
    }

    private func isCancelled(_ result: Result<Response, NetworkError>) -> Bool {
        guard case .failure(let error) = result else { return false }
        return error.kind == .cancelled
    }

    private static func outcome(_ result: Result<Response, NetworkError>) -> AttemptOutcome {
        switch result {
        case .success(let response): .response(response.status, response.headers)
        case .failure(let error): .failure(error)
        }
    }
}
