package import NetproxySystem
import Synchronization

/// The thread that writes the lines of all logs.
///
/// A disk that hangs blocks this thread, but no event loop. Sinks pass their lines in memory, up to
/// ``capacity`` bytes in all; lines that do not fit are dropped and counted, as on a full disk. The thread
/// wakes after an event loop has flushed its buffers, not for each line, and sleeps without a timer while
/// there is nothing to write.
package final class LogWriter: Sendable {
    /// The maximum number of bytes that wait for the disk.
    ///
    /// 16 MiB: about 30,000 lines. At 1000 requests a second a disk may hang for half a minute without a
    /// loss.
    package static let capacity = 16 << 20
    /// The number of waiting bytes that wakes the thread before the loops' next flush.
    private static let urgent = 256 << 10

    private struct State {
        /// The sinks with something to write.
        var due: [LogSink] = []
        /// Called after all waiting lines have been written.
        var waiters: [@Sendable () -> Void] = []
        var isStarted = false
        var isEnding = false
    }

    private let state = Mutex(State())
    private let signal: ThreadSignal
    /// The number of bytes that wait for the disk.
    private let waiting = Atomic(0)
    /// Whether the signal has been raised since the thread's last pass.
    private let isRaised = Atomic(false)
    private let capacity: Int

    /// Makes a writer, whose thread starts with the first line.
    ///
    /// - Parameter capacity: the maximum number of bytes that wait for the disk.
    /// - Throws: `FileError` if the process has no descriptors left.
    package init(capacity: Int = LogWriter.capacity) throws(FileError) {
        self.capacity = capacity
        signal = try ThreadSignal()
    }

    /// Ends the thread after it has written all waiting lines; otherwise the thread runs forever.
    package func end() {
        state.withLock { $0.isEnding = true }
        wake()
    }

    /// Whether the thread has ended or is about to end; callers then write themselves.
    var isEnding: Bool { state.withLock { $0.isEnding } }

    // MARK: - For the sinks

    /// Reserves space for bytes, and returns `false` if too many are waiting.
    func reserve(_ count: Int) -> Bool {
        guard waiting.add(count, ordering: .relaxed).newValue > capacity else { return true }
        release(count)
        return false
    }

    /// Releases the space of written or lost bytes.
    func release(_ count: Int) {
        waiting.subtract(count, ordering: .relaxed)
    }

    /// Adds a sink to the list; the sink must not be listed.
    func add(_ sink: LogSink) {
        state.withLock { $0.due.append(sink) }
    }

    /// Wakes the thread, which writes the lines of the listed sinks.
    func wake() {
        guard !isRaised.exchange(true, ordering: .acquiringAndReleasing) else { return }
        signal.raise()
        start()
    }

    /// Starts the thread now, so that the start of a daemon fails if the system has no thread for it.
    ///
    /// - Throws: `FileError` with the reason.
    package func begin() throws(FileError) {
        let code = start()
        guard code == 0 else { throw FileError("pthread_create", code: code) }
    }

    /// Starts the thread, unless it runs; if it cannot be started, the lines wait for the next attempt.
    ///
    /// - Returns: 0, or the error number.
    @discardableResult
    private func start() -> Int32 {
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted
        }
        guard isFirst else { return 0 }
        let code = startThread(named: "log-writer", { self.run() })
        guard code != 0 else { return 0 }
        state.withLock { $0.isStarted = false }
        isRaised.store(false, ordering: .sequentiallyConsistent)
        return code
    }

    /// Wakes the thread if many bytes are waiting.
    func wakeIfUrgent() {
        if waiting.load(ordering: .relaxed) >= LogWriter.urgent { wake() }
    }

    // MARK: - The end

    /// Waits until all lines passed so far have been written or lost, or the time is over.
    ///
    /// - Returns: `true` in time; `false` if the disk hangs.
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
            // Clear the flag before reading the list: a sink listed later raises the signal again.
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
