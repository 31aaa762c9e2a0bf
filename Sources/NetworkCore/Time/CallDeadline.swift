/// Ends a call, or what remains of it, when its time is over.
package enum CallDeadline {
    /// Runs `operation`; past the deadline it is cancelled.
    ///
    /// - Throws: `http_response_timeout` past the deadline, or the error of a response that was
    ///   being kept then; else what `operation` throws.
    package static func run<Result: Sendable>(
        until deadline: ContinuousClock.Instant?,
        on clock: any NetworkClock,
        _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard let deadline else { return try await operation() }
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await operation() }
            group.addTask {
                try await clock.sleep(until: deadline)
                return nil
            }
            defer { group.cancelAll() }
            if let first = try await group.next(), let result = first { return result }
            group.cancelAll()
            do {
                _ = try await group.next()
            } catch let error as NetworkError where error.response != nil {
                // The response is known, though not to its end: it says more than the time does.
                throw error
            } catch {}
            throw overdue
        }
    }

    package static var overdue: NetworkError {
        NetworkError(
            .httpResponseTimeout,
            side: .upstream,
            detail: "the answer was not complete within the timeout"
        )
    }
}
