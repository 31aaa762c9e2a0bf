public import NetworkClient
import Tracing

/// Creates a span for each call, and sends its context in request fields such as `traceparent`
/// (swift-distributed-tracing).
///
///     channel.interceptors = [TracingInterceptor()]
///
/// Names and attributes follow OpenTelemetry's HTTP client spans: `http.request.method`, `server.address`,
/// `server.port`, `url.full` without its query, `http.response.status_code`, `http.request.resend_count` and
/// `error.type`. The span ends with the head of the response.
public struct TracingInterceptor: RequestInterceptor {
    /// Creates the interceptor, which uses the bootstrapped tracer of the program.
    public init() {}

    /// Sends the request within a span.
    ///
    /// - Throws: the error of `next`.
    public func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        let span = startSpan(request.method.rawValue, ofKind: .client)
        defer { span.end() }
        span.attributes["http.request.method"] = request.method.rawValue
        span.attributes["server.address"] = request.origin.host
        span.attributes["server.port"] = Int(request.origin.port)
        span.attributes["url.full"] = "\(request.origin)\(TargetPath(request.target).path)"
        var request = request
        InstrumentationSystem.instrument.inject(
            span.context,
            into: &request.headers,
            using: FieldInjector()
        )
        do {
            let response = try await next.send(request, context: &context)
            span.attributes["http.response.status_code"] = response.status.rawValue
            note(context, in: span)
            if response.status.rawValue >= 400 {
                span.attributes["error.type"] = "\(response.status.rawValue)"
                span.setStatus(SpanStatus(code: .error))
            }
            return response
        } catch {
            note(context, in: span)
            span.attributes["error.type"] = NetworkError.of(error).kind.rawValue
            span.recordError(error)
            span.setStatus(SpanStatus(code: .error))
            throw error
        }
    }

    private func note(_ context: RequestContext, in span: any Span) {
        if context.attempts > 1 {
            span.attributes["http.request.resend_count"] = context.attempts - 1
        }
    }
}

/// Adds the values of a tracer to the fields; invalid names and values are skipped.
private struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into headers: inout HTTPHeaders) {
        guard let name = HTTPFieldName(key), let field = HTTPField(name, value) else { return }
        headers.set(field)
    }
}
