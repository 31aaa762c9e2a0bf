package import Bytes
package import EventIO
package import HTTPMessage
package import NetworkCore

/// Content that must be complete at a deadline.
package struct DeadlineBody: BodySource {
    private let source: any BodySource
    private let loop: EventLoop
    private let deadline: ContinuousClock.Instant

    /// Puts a deadline on a source that is read on `loop`.
    package init(
        _ source: any BodySource,
        until deadline: ContinuousClock.Instant,
        on loop: EventLoop
    ) {
        self.source = source
        self.loop = loop
        self.deadline = deadline
    }

    package func next() async throws -> ByteSlice? {
        // Pieces that are there already meet no timer.
        guard ContinuousClock.now < deadline else { throw NetworkError.overdue() }
        let source = source
        var nothing: Void = ()
        let piece = try await TimedTask.run(on: loop, until: deadline, &nothing) { _ in
            // A task of its own, which its cancellation reaches and the connection's relay does not.
            try await AbortRelay.$current.withValue(nil) { try await source.next() }
        }
        // A source may end where it was called off: that is no end of the content.
        if piece == nil, ContinuousClock.now >= deadline { throw NetworkError.overdue() }
        return piece
    }

    package func buffered() -> ByteSlice? {
        ContinuousClock.now < deadline ? source.buffered() : nil
    }

    package func trailers() -> HTTPHeaders? { source.trailers() }
    package func cancel() { source.cancel() }
}
