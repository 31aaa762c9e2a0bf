import NetproxyEventIO
import NetproxySystem

/// Reports to systemd, twice per watchdog interval, that every loop is still responsive.
struct Watchdog: Sendable {
    private let task: Task<Void, Never>

    /// Starts the watchdog; `nil` if systemd does not watch this process.
    init?(_ loops: [EventLoop], _ environment: [String: String]) {
        guard let interval = ServiceManager.watchdogInterval(environment) else { return nil }
        // The task runs until the daemon stops: a drain takes longer than most intervals.
        task = Task {
            while !Task.isCancelled {
                for loop in loops { _ = await loop.call { _ in } }
                // Without a descriptor there is no message, and systemd restarts the service.
                try? ServiceManager.notify("WATCHDOG=1", to: environment["NOTIFY_SOCKET"])
                try? await Task.sleep(for: interval / 2)
            }
        }
    }

    /// Ends the task, and returns when it no longer uses the loops.
    func stop() async {
        task.cancel()
        await task.value
    }
}
