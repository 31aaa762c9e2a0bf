/// Sends one attempt of a request to its origin, at the end of every chain.
public protocol HTTPTransport: Sendable {
    /// Sends the request once and returns when the head of the final response has arrived.
    ///
    /// - Throws: `NetworkError`.
    func send(
        _ request: consuming Request,
        context: inout RequestContext
    ) async throws -> Response

    /// Returns a transport whose attempts throw `http_response_timeout` at the context's deadline.
    ///
    /// By default, returns a wrapper that cancels `send` at the deadline. A transport that watches its own
    /// deadlines
    /// returns itself.
    func timed(by clock: any NetworkClock) -> any HTTPTransport
}

extension HTTPTransport {
    /// Returns a transport that sends through this one, and cancels `send` at the context's deadline.
    public func timed(by clock: any NetworkClock) -> any HTTPTransport {
        TimedTransport(transport: self, clock: clock)
    }
}
