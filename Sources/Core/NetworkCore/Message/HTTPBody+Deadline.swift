extension HTTPBody {
    /// Reads all of it, if it comes in time; what is late is given up.
    ///
    /// A transport answers for the head only: a body may last as long as its reader wants.
    ///
    /// - Throws: as `collect(upTo:)`, and `http_response_timeout` past the deadline.
    package func collect(
        upTo limit: Int,
        until deadline: ContinuousClock.Instant?,
        on clock: any NetworkClock
    ) async throws -> ByteSlice {
        guard case .stream(let source, _) = self, let deadline else {
            return try await collect(upTo: limit)
        }
        do {
            return try await TimeLimit.run(until: deadline, on: clock) {
                // A source need not notice that its reader was cancelled.
                try await withTaskCancellationHandler {
                    try await collect(upTo: limit)
                } onCancel: {
                    source.cancel()
                }
            }
        } catch {
            source.cancel()
            throw error
        }
    }
}
