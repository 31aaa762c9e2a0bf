/// The outcome of an attempt.
public enum AttemptOutcome: Sendable {
    /// With a response; its content is not read yet.
    case response(HTTPStatus, HTTPHeaders)
    /// With an error.
    case failure(NetworkError)
}

/// Whether to make another attempt.
public enum RetryDecision: Sendable, Hashable {
    /// No: the outcome stands.
    case doNotRetry
    /// Yes, after a while.
    case retry(after: Duration)

    /// Yes, at once.
    public static var retry: RetryDecision { .retry(after: .zero) }
}

/// Judges attempts: the half of an interceptor after the send.
public protocol RequestRetrier: Sendable {
    /// Decides about another attempt.
    ///
    /// - Parameters:
    ///   - request: the request as it came to the retrier.
    ///   - outcome: how the attempt ended.
    ///   - attempts: how many were made.
    /// - Returns: the decision, which counts only where the body can be sent again.
    func decide(
        on request: Request,
        after outcome: AttemptOutcome,
        attempts: Int
    ) async -> RetryDecision
}

/// A retrier as an interceptor; it calls `next` up to `limit` times.
///
/// What was spent is not sent again: a streamed body ends the attempts, unless none of it was
/// sent, it is a `RepeatableBodySource`, or a `ReplayBuffer` keeps it.
public struct RetryingInterceptor<Retrier: RequestRetrier>: RequestInterceptor {
    private let retrier: Retrier
    private let limit: Int
    private let clock: any NetworkClock

    /// Makes the interceptor.
    ///
    /// - Parameters:
    ///   - retrier: decides.
    ///   - limit: the largest number of attempts.
    ///   - clock: measures the waits.
    public init(_ retrier: Retrier, limit: Int = 3, clock: any NetworkClock = SystemClock()) {
        self.retrier = retrier
        self.limit = limit
        self.clock = clock
    }

    /// Sends the request as often as the retrier wants.
    public func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        var attempts = 0
        // What a call allows may be less, and is never more than this retrier does.
        let most = context.retryLimit.map { $0 < limit ? max($0, 0) + 1 : limit } ?? limit
        var request = request
        // An interceptor further in may read it, and fail before its own second attempt is sent.
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
