/// Work that would keep an event loop waiting, done elsewhere, whatever executor the caller's task prefers.
///
/// It takes a new task: one that prefers a loop runs `@concurrent` functions there, too, and the loop goes
/// on with what waits for an actor that such a task has entered. A caller that is cancelled cancels the
/// work.
package enum OffLoop {
    /// Does work that may wait for a disk, on threads that may wait.
    ///
    /// - Throws: what the work throws.
    package static func run<Success: Sendable, Failure>(
        _ work: @escaping @Sendable () async throws(Failure) -> Success
    ) async throws(Failure) -> Success {
        try await run(on: WaitingThreads.shared, work).get()
    }

    /// Does work that waits for no disk, on the global executor: it goes on where disks hang.
    package static func compute<Success: Sendable>(
        _ work: @escaping @Sendable () async -> Success
    ) async -> Success {
        switch await run(on: globalConcurrentExecutor, work) {
        case .success(let found): found
        }
    }

    private static func run<Success: Sendable, Failure>(
        on executor: any TaskExecutor,
        _ work: @escaping @Sendable () async throws(Failure) -> Success
    ) async -> Result<Success, Failure> {
        let task = Task(executorPreference: executor) { () async -> Result<Success, Failure> in
            do throws(Failure) { return .success(try await work()) } catch {
                return .failure(error)
            }
        }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
