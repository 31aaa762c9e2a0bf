public import NetworkCore

/// The transport that the channels of a process share: one event loop, one set of pools, the system's
/// authorities; made when it is first used, and kept for as long as the process runs.
///
///     let channel = NetworkChannel(transport: .shared, host: "api.example.com")
public struct SharedTransport: HTTPTransport {
    private static let pooled = Result { try PooledTransport() }

    /// The same transport each time.
    public init() {}

    /// Sends the request once; see `HTTPTransport`.
    ///
    /// - Throws: the error of the attempt; `proxy_internal_error` if the transport cannot be made.
    public func send(
        _ request: Request,
        context: inout RequestContext
    ) async throws -> Response {
        try await SharedTransport.pooled.get().send(request, context: &context)
    }

    /// Itself: every attempt ends at the context's deadline.
    public func timed(by clock: any NetworkClock) -> any HTTPTransport { self }
}

extension HTTPTransport where Self == SharedTransport {
    /// The transport that the channels of a process share.
    public static var shared: SharedTransport { SharedTransport() }
}
