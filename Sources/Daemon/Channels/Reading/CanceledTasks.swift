/// Waits until canceled tasks have ended their helper programs, even if the caller is canceled.
///
/// The wait takes at most a second: a task that reads a file from a hanging disk may never end.
package func waitForEnd<Value: Sendable>(of tasks: [Task<Value, Never>]) async {
    let (ends, end) = AsyncStream<Void>.makeStream()
    let timer = Task {
        do { try await Task.sleep(for: .seconds(1)) } catch { return }
        end.finish()
    }
    let waiter = Task {
        for task in tasks { _ = await task.value }
        end.finish()
    }
    // A task of its own: a canceled task iterates over no stream.
    await Task { for await _ in ends {} }.value
    timer.cancel()
    waiter.cancel()
}
