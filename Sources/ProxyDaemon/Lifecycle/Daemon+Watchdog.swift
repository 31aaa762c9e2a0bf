import EventIO
import System

extension Daemon {
    /// Tells systemd twice in the interval of its watchdog that every loop still turns; nothing where
    /// it does not watch.
    func proveLife() -> Task<Void, Never>? {
        guard let interval = ServiceManager.watchdogInterval(environment) else { return nil }
        // The daemon's own, until it has stopped: a drain takes longer than most intervals.
        return Task { [loops] in
            while !Task.isCancelled {
                for loop in loops { _ = await loop.call { _ in } }
                notify("WATCHDOG=1")
                try? await Task.sleep(for: interval / 2)
            }
        }
    }
}
