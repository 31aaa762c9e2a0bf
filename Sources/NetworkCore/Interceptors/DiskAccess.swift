/// File access on a thread that may wait, whatever event loop the caller runs on.
package enum DiskAccess {
    package static func run<Result: Sendable>(
        _ work: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        // Awaited on the next line, and short.
        let task = Task(executorPreference: globalConcurrentExecutor) { try work() }
        return try await task.value
    }
}
