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

/// Sends one attempt of a request to its origin: the end of every chain.
public protocol HTTPTransport: Sendable {
    /// Sends the request once and returns when the head of the final response is there.
    ///
    /// - Throws: `NetworkError`.
    func send(
        _ request: consuming Request,
        context: inout RequestContext
    ) async throws -> Response

    /// Whether it throws `http_response_timeout` by itself when a head has not come by the
    /// context's deadline.
    ///
    /// Default no: the caller watches the time.
    var keepsDeadlines: Bool { get }
}

extension HTTPTransport {
    /// The caller watches the time.
    public var keepsDeadlines: Bool { false }
}
