public import NetworkClient

/// A transport with a fault before it: inside of the channel's retries and authorization.
public struct FaultyTransport: HTTPTransport {
    private let chain: RequestChain

    /// Puts a fault before a transport.
    public init(_ transport: any HTTPTransport, _ fault: FaultInterceptor) {
        chain = RequestChain([fault], transport: transport)
    }

    /// Sends the request once, unless the fault strikes.
    public func send(
        _ request: Request,
        context: inout RequestContext
    ) async throws -> Response {
        try await chain.send(request, context: &context)
    }
}
