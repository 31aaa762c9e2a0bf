package import Bytes
package import EventIO
package import HTTPMessage
package import NetworkCore

/// Ends an attempt as a whole when its time is over.
package enum Deadline {
    /// Runs `operation` on the loop; past the deadline it is cancelled.
    ///
    /// - Throws: `http_response_timeout` past the deadline, else what `operation` throws.
    package static func run<Result: Sendable>(
        on loop: EventLoop,
        until deadline: ContinuousClock.Instant?,
        _ operation: @Sendable @escaping () async throws -> Result
    ) async throws -> Result {
        guard let deadline else { return try await operation() }
        let left = ContinuousClock.now.duration(to: deadline)
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            // A task of its own, which its cancellation reaches and the connection's relay does not.
            group.addTask {
                try await AbortRelay.$current.withValue(nil) { try await operation() }
            }
            group.addTask {
                try await loop.sleep(for: left)
                return nil
            }
            defer { group.cancelAll() }
            if let first = try await group.next(), let result = first { return result }
            throw NetworkError.overdue
        }
    }
}

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
        let source = source
        return try await Deadline.run(on: loop, until: deadline) { try await source.next() }
    }

    package func trailers() -> HTTPHeaders? { source.trailers() }
    package func cancel() { source.cancel() }
}
