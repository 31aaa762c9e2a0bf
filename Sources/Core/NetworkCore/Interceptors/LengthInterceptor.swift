/// Sends content without a length again, with its length, if the origin requires one.
///
/// A 411 refuses the request only for lack of `Content-Length` (RFC 9110 §15.5.12), so the server has not
/// processed it and the method does not matter. The interceptor calls `next` at most twice.
struct LengthInterceptor: RequestInterceptor {
    /// The maximum number of bytes of content to keep.
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// Whether the request can bypass the step; almost every request has a length.
    func isIdle(for request: borrowing Request) -> Bool {
        guard limit > 0, case .stream(_, nil) = request.body else { return true }
        return false
    }

    func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        guard !isIdle(for: request) else { return try await next.send(request, context: &context) }
        var request = request
        let buffer = request.keepBody(upTo: limit, length: nil)
        defer { buffer?.release() }
        let refusal = try await next.send(request, context: &context)
        guard refusal.status == 411, var again = request.again() else { return refusal }
        do {
            again.body = .bytes(try await again.body.collect(upTo: limit))
        } catch let error as NetworkError where error.kind == .httpResponseBodySize {
            // The content is too long to keep, so the client gets the response of the origin.
            return refusal
        }
        refusal.body.cancel()
        context.beginNextAttempt(because: .status(refusal.status))
        return try await next.send(again, context: &context)
    }
}
