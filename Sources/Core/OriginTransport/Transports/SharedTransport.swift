public import NetworkCore

/// The transport that the channels of a process share: one event loop, one set of pools, the system's
/// authorities.
///
/// It is created at its first use and kept until the process ends.
///
///     let channel = NetworkChannel(transport: .shared, host: "api.example.com")
public struct SharedTransport: HTTPTransport {
    private static let pooled = Result { try PooledTransport() }

    /// Creates a value that refers to the same transport each time.
    public init() {}

    /// Sends the request once; see `HTTPTransport`.
    ///
    /// - Throws: the error of the attempt; `proxy_internal_error` if the transport cannot be created.
    public func send(
        _ request: Request,
        context: inout RequestContext
    ) async throws -> Response {
        try await SharedTransport.pooled.get().send(request, context: &context)
    }

    /// Returns the transport itself: every attempt ends at the context's deadline.
    public func timed(by clock: any NetworkClock) -> any HTTPTransport { self }
}

extension HTTPTransport where Self == SharedTransport {
    /// The transport that the channels of a process share.
    public static var shared: SharedTransport { SharedTransport() }
}
