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
