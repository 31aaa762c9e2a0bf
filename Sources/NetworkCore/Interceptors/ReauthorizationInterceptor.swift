/// Cures a 401: gets a newer credential and sends the request once more, with its body intact.
///
/// It calls `next` at most twice. If nothing helps, the origin's own 401 goes to the app untouched.
public struct ReauthorizationInterceptor: RequestInterceptor {
    private let authorizer: any Authorizing
    private let replayLimit: Int

    /// Makes the interceptor.
    ///
    /// - Parameters:
    ///   - authorizer: knows the credential, and what to do about a 401.
    ///   - replayLimit: the largest request body that is kept for the replay, in bytes.
    public init(authorizer: any Authorizing, replayLimit: Int = 64 * 1024) {
        self.authorizer = authorizer
        self.replayLimit = replayLimit
    }

    /// Sends the request, and again after a 401 that a new credential may cure.
    public func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        var first = request
        var replay: ReplayBuffer?
        if case .stream(let source, let length) = request.body {
            let buffer = ReplayBuffer(source, limit: replayLimit)
            replay = buffer
            first.body = .stream(buffer, length: length)
        }
        let response = try await next.send(first, context: &context)
        // RFC 9110 §15.5.2: a 401 was not acted on, so that any method may be sent again.
        guard response.status == 401, let sent = context.authorization else { return response }
        let verdict = await authorizer.rejected(
            generation: sent.generation,
            challenges: Challenge.parse(response.headers.values(of: .wwwAuthenticate))
        )
        guard case .replay = verdict else {
            if case .passThrough(let reason) = verdict {
                context.authorization?.notReplayed = reason
            }
            return response
        }
        guard let body = replay.map({ $0.replay(as: request.body) }) ?? request.body else {
            context.authorization?.notReplayed = "body_not_replayable"
            return response
        }
        await discard(response.body)
        context.authorization?.isRefreshed = true
        context.beginNextAttempt(because: .unauthorized)
        var second = request
        second.body = body
        // The body is here, or on its way: there is nothing left to expect.
        second.headers.remove(HTTPFieldName.expect)
        let answer = try await next.send(second, context: &context)
        if answer.status == 401 {
            await authorizer.replayRejected(generation: context.authorization?.generation)
            context.authorization?.notReplayed = "rejected_again"
        }
        return answer
    }

    /// Reads a short body to its end, so that the connection can be used for the replay.
    private func discard(_ body: HTTPBody) async {
        guard case .stream(let source, let length) = body else { return }
        guard length.map({ $0 <= 64 * 1024 }) ?? true else { return source.cancel() }
        _ = try? await body.collect(upTo: 64 * 1024)
    }
}
