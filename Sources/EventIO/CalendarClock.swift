import Glibc
// The C struct timespec counts as this module's or as Glibc's, whichever the compiler loads first.
import SwiftOverlayShims

/// The time of the calendar, which follows the monotonic clock between two looks at the system's.
struct CalendarClock {
    /// How long the system's clock is not looked at, in nanoseconds: a change of it is seen after 50 ms
    /// at the latest.
    private static let lifetime: UInt64 = 50_000_000

    /// When the system's clock was read, on the monotonic one, and what it said.
    private var read: UInt64 = 0
    private var atRead: UInt64 = 0

    /// The time in nanoseconds since 1970, at a moment of the monotonic clock.
    @inline(__always)
    mutating func time(at present: UInt64) -> UInt64 {
        if present &- read >= CalendarClock.lifetime {
            read = present
            atRead = wallNanoseconds() &- (monotonicNanoseconds() &- present)
        }
        return atRead &+ (present &- read)
    }
}

/// The clock of the calendar, in nanoseconds since 1970.
private func wallNanoseconds() -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// The monotonic clock, in nanoseconds.
package func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// The processor time of the calling thread, in nanoseconds.
func threadProcessorNanoseconds() -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
