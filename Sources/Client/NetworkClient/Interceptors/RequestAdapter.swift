/// Changes requests on their way out: the half of an interceptor that stands before the send.
public protocol RequestAdapter: Sendable {
    /// The request to send in the place of this one.
    ///
    /// - Throws: an error that ends the call before the request is sent.
    func adapt(_ request: Request) async throws -> Request
}

/// An adapter as an interceptor.
public struct AdaptingInterceptor<Adapter: RequestAdapter>: RequestInterceptor {
    private let adapter: Adapter

    /// Makes the interceptor.
    public init(_ adapter: Adapter) {
        self.adapter = adapter
    }

    /// Sends the adapted request.
    public func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        try await next.send(try await adapter.adapt(request), context: &context)
    }
}

/// An adapter made of a closure.
public struct ClosureAdapter: RequestAdapter {
    private let change: @Sendable (inout Request) async throws -> Void

    /// Makes an adapter that changes each request in place.
    public init(_ change: @escaping @Sendable (inout Request) async throws -> Void) {
        self.change = change
    }

    /// The request with the change.
    public func adapt(_ request: Request) async throws -> Request {
        var request = request
        try await change(&request)
        return request
    }
}

extension RequestInterceptor where Self == AdaptingInterceptor<ClosureAdapter> {
    /// An interceptor that changes each request in place.
    public static func adapting(
        _ change: @escaping @Sendable (inout Request) async throws -> Void
    ) -> Self {
        AdaptingInterceptor(ClosureAdapter(change))
    }
}
