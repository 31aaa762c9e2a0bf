extension HTTPBody {
    /// Reads the whole content until a deadline; cancels late content.
    ///
    /// A transport limits the time to the head only; a body may take as long as its reader allows.
    ///
    /// - Throws: the errors of `collect(upTo:)`, and `http_response_timeout` past the deadline.
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
                // A source may not notice the cancellation of its reader.
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
