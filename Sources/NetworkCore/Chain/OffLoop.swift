import System

/// Work that may wait for a disk, on a thread that may wait: not on an event loop, whatever executor the
/// caller's task prefers.
///
/// It takes a new task: one that prefers a loop runs `@concurrent` functions there, too, and the loop goes
/// on with what waits for an actor that such a task has entered.
package enum OffLoop {
    /// Does the work; a caller that is cancelled cancels it.
    ///
    /// - Throws: what the work throws.
    package static func run<Success: Sendable, Failure>(
        _ work: @escaping @Sendable () async throws(Failure) -> Success
    ) async throws(Failure) -> Success {
        let task = Task(executorPreference: WaitingThreads.shared) {
            () async -> Result<Success, Failure> in
            do throws(Failure) { return .success(try await work()) } catch {
                return .failure(error)
            }
        }
        let outcome = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        return try outcome.get()
    }
}
