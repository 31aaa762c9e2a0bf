/// Limits the time of operations that do not watch it themselves.
package enum TimeLimit {
    /// Runs `operation`, and cancels it at the deadline, which `setting` has determined.
    ///
    /// - Throws: the timeout of the phase (`http_response_timeout` for `total`) past the deadline, or the error of a response that was being kept
    ///   then; else
    ///   the error of `operation`.
    package static func run<Result: Sendable>(
        until deadline: ContinuousClock.Instant?,
        on clock: any NetworkClock,
        setBy setting: TimeSetting? = nil,
        of phase: TimeoutPhase = .total,
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
                // The error contains a response, although incomplete, which is more informative than the
                // timeout.
                throw error
            } catch {}
            throw NetworkError.timeout(phase, after: setting)
        }
    }
}
