/// One step around the sending of a request.
///
/// What stands before the call of `next` adapts the request; what stands behind it judges the
/// response. It calls `next` at most once, unless its documentation says otherwise; each call sends
/// an attempt.
public protocol RequestInterceptor: Sendable {
    /// Sends the request on with `next`, or answers by itself.
    ///
    /// - Throws: `NetworkError`; any other error counts as `proxy_internal_error`.
    func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response
}
