/// Work that may wait for a disk, on a thread that may wait: not on an event loop, whatever executor the
/// caller's task prefers.
///
/// It takes a new task: one that prefers a loop runs `@concurrent` functions there, too, and the loop goes
/// on with what waits for an actor that such a task has entered.
package enum OffLoop {
    /// Does the work; a caller that is cancelled cancels it.
    package static func run<Result: Sendable>(
        _ work: @escaping @Sendable () async -> Result
    ) async -> Result {
        // Awaited on the next line.
        let task = Task(executorPreference: globalConcurrentExecutor) { await work() }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// The same for work that may fail.
    ///
    /// - Throws: what it throws.
    package static func run<Result: Sendable>(
        _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let outcome = await run { () async -> Swift.Result<Result, any Error> in
            do { return .success(try await work()) } catch { return .failure(error) }
        }
        return try outcome.get()
    }
}
