import Bytes
import NetworkCore

extension HTTPTransport {
    /// The whole answer to a request, of at most `limit` bytes, by a deadline.
    ///
    /// - Throws: what `send` and reading the content throw.
    func answer(
        to request: Request,
        upTo limit: Int,
        until deadline: ContinuousClock.Instant,
        on clock: any NetworkClock
    ) async throws -> (response: Response, content: ByteSlice) {
        var context = RequestContext(deadline: deadline)
        let response = try await send(request, context: &context)
        let content = try await response.body.collect(upTo: limit, until: deadline, on: clock)
        return (response, content)
    }
}
