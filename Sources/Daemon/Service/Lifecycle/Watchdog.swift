import NetproxyEventIO
import NetproxySystem

/// Proves to systemd, twice in the interval of its watchdog, that every loop still turns.
struct Watchdog: Sendable {
    private let task: Task<Void, Never>

    /// Starts it; `nil` where systemd does not watch this process.
    init?(_ loops: [EventLoop], _ environment: [String: String]) {
        guard let interval = ServiceManager.watchdogInterval(environment) else { return nil }
        // For the life of the daemon: a drain takes longer than most intervals.
        task = Task {
            while !Task.isCancelled {
                for loop in loops { _ = await loop.call { _ in } }
                ServiceManager.notify("WATCHDOG=1", to: environment["NOTIFY_SOCKET"])
                try? await Task.sleep(for: interval / 2)
            }
        }
    }

    /// Ends it, and returns when it uses the loops no more.
    func stop() async {
        task.cancel()
        await task.value
    }
}
