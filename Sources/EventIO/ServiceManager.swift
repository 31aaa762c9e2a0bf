import CLibevent
import Glibc
// The C struct timeval counts as this module's or as Glibc's, whichever the compiler loads first.
import SwiftOverlayShims

/// What systemd wants to know and offers: the notification datagram and inherited sockets.
package enum ServiceManager {
    /// Sends `READY=1`, `STOPPING=1`, … to `$NOTIFY_SOCKET`, if there is one (sd_notify(3)); what is
    /// not taken within 100 ms is lost.
    package static func notify(_ message: String, to path: String?) {
        guard let path, let first = path.utf8.first else { return }
        let descriptor = socket(
            AF_UNIX,
            Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue),
            0
        )
        guard descriptor >= 0 else { return }
        defer { _ = close(descriptor) }
        // A manager that does not read must not stop what it manages.
        var patience = timeval(tv_sec: 0, tv_usec: 100_000)
        _ = unsafe setsockopt(
            descriptor,
            SOL_SOCKET,
            SO_SNDTIMEO,
            &patience,
            socklen_t(MemoryLayout<timeval>.size)
        )
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        guard bytes.count < 108 else { return }
        // An abstract socket is written with @ for its leading zero byte.
        if first == UInt8(ascii: "@") { bytes[0] = 0 }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let text = Array(message.utf8)
        // SAFETY: the path fits sun_path, which was checked; everything lives for the call.
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        _ = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), $0, length)
            }
        }
    }

    /// Within which time systemd wants to hear `WATCHDOG=1` again, if it watches this process
    /// (sd_watchdog_enabled(3)).
    package static func watchdogInterval(_ environment: [String: String]) -> Duration? {
        guard let interval = environment["WATCHDOG_USEC"].flatMap(Int64.init), interval > 0
        else { return nil }
        if let process = environment["WATCHDOG_PID"], Int32(process) != getpid() { return nil }
        return .microseconds(interval)
    }

    /// The descriptors that systemd handed over, by their names (sd_listen_fds_with_names(3)).
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
