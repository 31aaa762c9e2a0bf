/// Runs work that would block an event loop on other threads, regardless of the caller's executor.
///
/// The work needs a new task. A task that prefers a loop also runs `@concurrent` functions on it, and so do
/// tasks that wait for an actor that such a task has entered. Canceling the caller cancels the work.
package enum OffLoop {
    /// Runs work that may wait for a disk, on the threads for that purpose.
    ///
    /// - Throws: the error of the work.
    package static func run<Success: Sendable, Failure>(
        _ work: @escaping @Sendable () async throws(Failure) -> Success
    ) async throws(Failure) -> Success {
        try await run(on: WaitingThreads.shared, work).get()
    }

    /// Runs work of a token store on separate threads, so that a store that hangs delays no other file.
    ///
    /// - Throws: the error of the work.
    package static func runForStore<Success: Sendable, Failure>(
        _ work: @escaping @Sendable () async throws(Failure) -> Success
    ) async throws(Failure) -> Success {
        try await run(on: WaitingThreads.stores, work).get()
    }

    /// Runs work that does not wait for a disk, on the global executor, so that it continues while a disk
    /// hangs.
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
