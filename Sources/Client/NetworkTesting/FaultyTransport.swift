public import NetworkClient

/// A transport that injects a fault before the wrapped transport, inside the channel's retries and
/// authorization.
public struct FaultyTransport: HTTPTransport {
    private let chain: RequestChain

    /// Wraps a transport with a fault.
    public init(_ transport: any HTTPTransport, _ fault: FaultInterceptor) {
        chain = RequestChain([fault], transport: transport)
    }

    /// Sends the request once, unless the fault occurs.
    public func send(
        _ request: Request,
        context: inout RequestContext
    ) async throws -> Response {
        try await chain.send(request, context: &context)
    }
}
