/// A step around the sending of a request.
///
/// Code before the call of `next` adapts the request; code after it inspects the response:
///
///     struct Stamp: RequestInterceptor {
///         func intercept(
///             _ request: Request,
///             context: inout RequestContext,
///             next: RequestChain
///         ) async throws -> Response {
///             var request = request
///             try request.headers.set("X-Channel", "orders")
///             return try await next.send(request, context: &context)
///         }
///     }
///
/// An interceptor calls `next` at most once, unless its documentation says otherwise; each call sends an
/// attempt.
/// `InterceptorStack` defines the order of the interceptors.
public protocol RequestInterceptor: Sendable {
    /// Sends the request with `next`, or returns a response of its own.
    ///
    /// - Throws: `NetworkError`; any other error counts as `proxy_internal_error`.
    func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response
}
