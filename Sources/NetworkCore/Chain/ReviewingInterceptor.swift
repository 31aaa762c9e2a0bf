/// An interceptor that sends the request as it is, and mostly is content with the answer.
///
/// The chain sends without it and asks afterwards: no frame waits for the response, and the
/// interceptor runs only where it has something to do.
package protocol ReviewingInterceptor: RequestInterceptor {
    /// Whether the request may be sent as it is.
    ///
    /// - Returns: false for a request that `intercept` must see; nothing has happened then.
    func begin(_ request: borrowing Request, context: inout RequestContext) -> Bool

    /// Whether the response is the answer.
    func accepts(
        _ response: borrowing Response,
        to request: borrowing Request,
        context: inout RequestContext
    ) -> Bool

    /// Does what `intercept` does after its first send.
    ///
    /// - Parameters:
    ///   - outcome: a response that was not accepted, or what was thrown.
    ///   - request: as it was sent.
    ///   - context: what is known of the exchange.
    ///   - next: sends again.
    /// - Returns: what `intercept` would return.
    /// - Throws: what `intercept` would throw.
    func review(
        _ outcome: Result<Response, any Error>,
        of request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response
}

extension ReviewingInterceptor {
    /// Sends the request first, and reviews the outcome then.
    package func sendAndReview(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        let response: Response
        do {
            response = try await next.send(request, context: &context)
        } catch {
            return try await review(.failure(error), of: request, context: &context, next: next)
        }
        if accepts(response, to: request, context: &context) { return response }
        return try await review(.success(response), of: request, context: &context, next: next)
    }
}
