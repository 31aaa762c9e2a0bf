import Glibc

/// The protocol of systemd: notifications, the watchdog and inherited sockets.
package enum ServiceManager {
    /// Sends `READY=1`, `STOPPING=1` or another message to `$NOTIFY_SOCKET`, if it is set (sd_notify(3)).
    ///
    /// A message that the manager does not accept within 100 ms is lost.
    ///
    /// - Throws: `FileError` if the process has no descriptor left.
    package static func notify(_ message: String, to path: String?) throws(FileError) {
        guard let path, !path.isEmpty else { return }
        // A manager that does not read must not block the service.
        let socket = try DatagramSocket(waitingAtMost: 100)
        do throws(FileError) {
            try socket.send(Array(message.utf8).span, to: path)
        } catch {
            // There is nobody to report the error to.
        }
    }

    /// The interval at which systemd expects `WATCHDOG=1`, if it watches this process (sd_watchdog_enabled(3)).
    package static func watchdogInterval(_ environment: [String: String]) -> Duration? {
        guard let interval = environment["WATCHDOG_USEC"].flatMap(Int64.init), interval > 0
        else { return nil }
        if let process = environment["WATCHDOG_PID"], Int32(process) != getpid() { return nil }
        return .microseconds(interval)
    }

    /// Returns the descriptors passed by systemd, by name (sd_listen_fds_with_names(3)).
    package static func inheritedSockets(
        _ environment: [String: String]
    ) -> [String: [Int32]] {
        guard let count = environment["LISTEN_FDS"].flatMap(Int.init), count > 0,
            environment["LISTEN_PID"].flatMap(Int32.init) == getpid()
        else { return [:] }
        let names = (environment["LISTEN_FDNAMES"] ?? "").split(
            separator: ":",
            omittingEmptySubsequences: false
        )
        var found: [String: [Int32]] = [:]
        for index in 0..<count {
            let name = index < names.count ? String(names[index]) : "unknown"
            found[name, default: []].append(Int32(3 + index))
        }
        return found
    }
}
