import Glibc
// The C struct timespec counts as this module's or as Glibc's, whichever the compiler loads first.
import SwiftOverlayShims

/// The clock of a loop: monotonic, in nanoseconds, and read once per turn of the loop.
struct LoopClock {
    /// How long the system's calendar clock is not read again: a change of it shows after 50 ms at
    /// the latest.
    private static let calendarLifetime: UInt64 = 50_000_000

    private var time = monotonicNanoseconds()
    /// Whether the loop has waited since `time` was read.
    private var isStale = false
    /// The lead over the system's clock; 0 outside tests.
    private var lead: UInt64 = 0
    /// The time of suspension that a test adds.
    private var pretendedSuspension: Int64 = 0
    /// The last reading of the calendar clock, and its time on the monotonic clock.
    private var calendar: (read: UInt64, time: UInt64) = (0, 0)

    /// The time: the same until `expire()`, however long the turn takes.
    var now: UInt64 {
        @inline(__always)
        mutating get {
            if isStale { read() }
            return time
        }
    }

    /// The time in nanoseconds since 1970.
    var wallNow: UInt64 {
        mutating get {
            let present = now &- lead
            if present &- calendar.read >= LoopClock.calendarLifetime {
                calendar = (present, wallNanoseconds() &- (monotonicNanoseconds() &- present))
            }
            return calendar.time &+ (present &- calendar.read)
        }
    }

    /// How long the machine has been suspended since it started, in nanoseconds, give or take the
    /// length of a turn: what one of its clocks counts and the other does not.
    var suspension: Int64 {
        mutating get {
            // Below zero, where the loop's clock is read after the other.
            let difference = nanoseconds(of: CLOCK_BOOTTIME) &- (now &- lead)
            return Int64(bitPattern: difference) &+ pretendedSuspension
        }
    }

    @inline(never)
    mutating func read() {
        time = monotonicNanoseconds() &+ lead
        isStale = false
    }

    /// Makes the next use of the clock read it.
    mutating func expire() { isStale = true }

    /// Counts as suspended for so long, in tests.
    mutating func pretendSuspension(_ duration: Duration) {
        pretendedSuspension &+= Int64(bitPattern: duration.nanoseconds)
    }

    /// Moves the clock forward, in tests.
    mutating func skip(_ duration: Duration) {
        lead &+= duration.nanoseconds
        read()
    }
}

/// The monotonic clock, in nanoseconds.
package func monotonicNanoseconds() -> UInt64 { nanoseconds(of: CLOCK_MONOTONIC) }

/// The calendar clock, in nanoseconds since 1970.
private func wallNanoseconds() -> UInt64 { nanoseconds(of: CLOCK_REALTIME) }

/// The processor time of the calling thread, in nanoseconds.
func threadProcessorNanoseconds() -> UInt64 { nanoseconds(of: CLOCK_THREAD_CPUTIME_ID) }

private func nanoseconds(of clock: clockid_t) -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

extension Duration {
    /// The duration in nanoseconds: 0 for a negative one, and at most a century.
    @inline(__always)
    package var nanoseconds: UInt64 {
        let attoseconds = attoseconds
        guard attoseconds > 0 else { return 0 }
        // Up to 18 s fit into 64 bits, whose division costs a tenth of the wide one.
        if let small = UInt64(exactly: attoseconds) { return small / 1_000_000_000 }
        return UInt64(min(attoseconds / 1_000_000_000, 3_153_600_000_000_000_000))
    }

    /// A number of nanoseconds, without the checks of `Duration.nanoseconds(_:)`: any 64 bits of
    /// them fit.
    @inline(__always)
    package init(elapsed nanoseconds: UInt64) {
        self.init(attoseconds: Int128(truncatingIfNeeded: nanoseconds) &* 1_000_000_000)
    }
}
