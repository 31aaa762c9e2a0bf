/// Sends content without a known length once more, with its length, where the origin insists on one.
///
/// RFC 9110 §15.5.12: a 411 refuses the request for the lack of `Content-Length` alone, so that nothing
/// was acted on, whatever the method. Calls `next` twice at most.
struct LengthInterceptor: RequestInterceptor {
    /// The number of bytes of content that are kept.
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// Whether a request needs no look: almost every one has a length.
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
            // Too much to keep: the app gets the origin's own answer.
            return refusal
        }
        refusal.body.cancel()
        context.beginNextAttempt(because: .status(refusal.status))
        return try await next.send(again, context: &context)
    }
}
