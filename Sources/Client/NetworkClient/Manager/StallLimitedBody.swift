/// Content that fails if it pauses for too long.
final class StallLimitedBody: BodySource {
    private let source: any BodySource
    private let limit: Duration
    private let clock: any NetworkClock

    private init(_ source: any BodySource, _ limit: Duration, _ clock: any NetworkClock) {
        self.source = source
        self.limit = limit
        self.clock = clock
    }

    /// Returns content with a limit on its pauses, if it has yet to arrive.
    static func body(_ body: HTTPBody, limit: Duration, _ clock: any NetworkClock) -> HTTPBody {
        guard case .stream(let source, let length) = body else { return body }
        return .stream(StallLimitedBody(source, limit, clock), length: length)
    }

    func next() async throws -> ByteSlice? {
        let source = source
        if let piece = source.buffered() { return piece }
        do {
            return try await TimeLimit.run(
                until: clock.now + limit,
                on: clock,
                setBy: TimeSetting("the stall timeout of the call", limit, owner: "this client"),
                of: .readingBody
            ) {
                // A source may not notice the cancellation of its reader.
                try await withTaskCancellationHandler {
                    try await source.next()
                } onCancel: {
                    source.cancel()
                }
            }
        } catch {
            source.cancel()
            throw error
        }
    }

    func buffered() -> ByteSlice? { source.buffered() }
    func trailers() -> HTTPHeaders? { source.trailers() }
    func cancel() { source.cancel() }
}
