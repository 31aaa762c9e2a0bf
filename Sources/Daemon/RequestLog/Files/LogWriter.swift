package import NetproxySystem
import Synchronization

/// The thread that writes the lines of all logs: a disk that hangs holds up this thread, and no event
/// loop.
///
/// Sinks hand their lines over in memory, up to ``capacity`` bytes in all; what does not fit is
/// dropped and counted, as on a full disk. The thread wakes when an event loop has flushed its
/// buffers, not for each line, and sleeps without a timer while there is nothing to write.
package final class LogWriter: Sendable {
    /// How many bytes may wait for the disk.
    ///
    /// 16 MiB: about 30,000 lines. At 1000 requests a second a disk may hang for half a minute
    /// without a loss.
    package static let capacity = 16 << 20
    /// With this many bytes waiting the thread is woken before the loops' next flush.
    private static let urgent = 256 << 10

    private struct State {
        /// The sinks that have something to write.
        var due: [LogSink] = []
        /// Called when everything that is here now has been written.
        var waiters: [@Sendable () -> Void] = []
        var isStarted = false
        var isEnding = false
    }

    private let state = Mutex(State())
    private let signal: ThreadSignal
    /// Bytes that wait for the disk.
    private let waiting = Atomic(0)
    /// Whether the signal has been raised since the thread last looked.
    private let isRaised = Atomic(false)
    private let capacity: Int

    /// Makes a writer, whose thread starts with the first line.
    ///
    /// - Parameter capacity: how many bytes may wait for the disk.
    /// - Throws: `FileError` when the process has no descriptors left.
    package init(capacity: Int = LogWriter.capacity) throws(FileError) {
        self.capacity = capacity
        signal = try ThreadSignal()
    }

    /// Ends the thread after everything that is waiting; without it the thread runs for ever.
    package func end() {
        state.withLock { $0.isEnding = true }
        wake()
    }

    /// Whether the thread has ended or is about to, so that no one else writes.
    var isEnding: Bool { state.withLock { $0.isEnding } }

    // MARK: - For the sinks

    /// Makes room for bytes; returns `false` if too many are waiting.
    func reserve(_ count: Int) -> Bool {
        guard waiting.add(count, ordering: .relaxed).newValue > capacity else { return true }
        release(count)
        return false
    }

    /// The bytes have been written or lost.
    func release(_ count: Int) {
        waiting.subtract(count, ordering: .relaxed)
    }

    /// Lists a sink that was not listed.
    func add(_ sink: LogSink) {
        state.withLock { $0.due.append(sink) }
    }

    /// Has the listed sinks written now.
    func wake() {
        guard !isRaised.exchange(true, ordering: .acquiringAndReleasing) else { return }
        signal.raise()
        start()
    }

    /// Starts the thread, unless it runs; without a thread for it the lines wait for the next attempt.
    private func start() {
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted
        }
        guard isFirst, startThread(named: "log-writer", { self.run() }) != 0 else { return }
        state.withLock { $0.isStarted = false }
        isRaised.store(false, ordering: .sequentiallyConsistent)
    }

    /// Has the listed sinks written now if much is waiting.
    func wakeIfUrgent() {
        if waiting.load(ordering: .relaxed) >= LogWriter.urgent { wake() }
    }

    // MARK: - The end

    /// Returns when everything that was handed over before has been written or lost, or the time is
    /// over.
    ///
    /// - Returns: whether it was in time; otherwise the disk hangs.
    package func flush(within limit: Duration) async -> Bool {
        let (outcomes, outcome) = AsyncStream<Bool>.makeStream()
        state.withLock { $0.waiters.append { outcome.yield(true) } }
        wake()
        let bound = Task {
            try await Task.sleep(for: limit)
            outcome.yield(false)
        }
        defer { bound.cancel() }
        for await isWritten in outcomes { return isWritten }
        return false
    }

    // MARK: - The thread

    private func run() {
        while true {
            signal.wait()
            // Before the look: what is listed after it raises the signal again.
            isRaised.store(false, ordering: .sequentiallyConsistent)
            let (due, waiters, isEnding) = state.withLock { state in
                defer { (state.due, state.waiters) = ([], []) }
                return (state.due, state.waiters, state.isEnding)
            }
            for sink in due { sink.writeWaiting() }
            for waiter in waiters { waiter() }
            if isEnding { return }
        }
    }
}
