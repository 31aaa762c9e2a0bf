/// Changes requests before they are sent: the first half of an interceptor.
public protocol RequestAdapter: Sendable {
    /// Returns the request to send instead.
    ///
    /// - Throws: an error that ends the call before the request is sent.
    func adapt(_ request: Request) async throws -> Request
}

/// An interceptor that runs an adapter.
public struct AdaptingInterceptor<Adapter: RequestAdapter>: RequestInterceptor {
    private let adapter: Adapter

    /// Creates the interceptor.
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

/// An adapter that runs a closure.
public struct ClosureAdapter: RequestAdapter {
    private let change: @Sendable (inout Request) async throws -> Void

    /// Creates an adapter that changes each request in place.
    public init(_ change: @escaping @Sendable (inout Request) async throws -> Void) {
        self.change = change
    }

    /// Returns the changed request.
    public func adapt(_ request: Request) async throws -> Request {
        var request = request
        try await change(&request)
        return request
    }
}

extension RequestInterceptor where Self == AdaptingInterceptor<ClosureAdapter> {
    /// Returns an interceptor that changes each request in place.
    public static func adapting(
        _ change: @escaping @Sendable (inout Request) async throws -> Void
    ) -> Self {
        AdaptingInterceptor(ClosureAdapter(change))
    }
}
