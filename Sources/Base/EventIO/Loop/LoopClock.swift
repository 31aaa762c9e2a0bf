import Glibc
// The C struct timespec belongs to this module or to Glibc, depending on which the compiler loads first.
import SwiftOverlayShims

/// The clock of a loop: monotonic, in nanoseconds, and read once per turn.
struct LoopClock {
    /// The time for which a reading of the system's calendar clock is reused.
    ///
    /// A change of that clock is visible after at most 50 ms.
    private static let calendarLifetime: UInt64 = 50_000_000

    private var time = monotonicNanoseconds()
    /// Whether the loop has waited since `time` was read.
    private var isStale = false
    /// The lead over the system's clock; 0 outside tests.
    private var lead: UInt64 = 0
    /// The additional suspension set by a test.
    private var pretendedSuspension: Int64 = 0
    /// The last reading of the calendar clock, and the time of that reading on the monotonic clock.
    private var calendar: (read: UInt64, time: UInt64) = (0, 0)

    /// The current time, constant until `expire()`, however long the turn takes.
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

    /// The total suspension of the machine since its start, in nanoseconds, within the length of a turn.
    ///
    /// It is the difference between a clock that counts suspensions and one that does not.
    var suspension: Int64 {
        mutating get {
            // Negative if the loop's clock was read after the other.
            let difference = nanoseconds(of: CLOCK_BOOTTIME) &- (now &- lead)
            return Int64(bitPattern: difference) &+ pretendedSuspension
        }
    }

    @inline(never)
    mutating func read() {
        time = monotonicNanoseconds() &+ lead
        isStale = false
    }

    /// Marks the reading as stale, so that the next use reads the clock.
    mutating func expire() { isStale = true }

    /// Adds to the suspension, for tests.
    mutating func pretendSuspension(_ duration: Duration) {
        pretendedSuspension &+= Int64(bitPattern: duration.nanoseconds)
    }

    /// Advances the clock, for tests.
    mutating func skip(_ duration: Duration) {
        lead &+= duration.nanoseconds
        read()
    }
}

/// Returns the time of the monotonic clock, in nanoseconds.
package func monotonicNanoseconds() -> UInt64 { nanoseconds(of: CLOCK_MONOTONIC) }

/// Returns the time of the calendar clock, in nanoseconds since 1970.
private func wallNanoseconds() -> UInt64 { nanoseconds(of: CLOCK_REALTIME) }

/// Returns the processor time of the calling thread, in nanoseconds.
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
        // Up to 18 s fit into 64 bits, for which the division takes a tenth of the time.
        if let small = UInt64(exactly: attoseconds) { return small / 1_000_000_000 }
        return UInt64(min(attoseconds / 1_000_000_000, 3_153_600_000_000_000_000))
    }

    /// Creates a duration without the checks of `Duration.nanoseconds(_:)`, since any 64-bit number fits.
    @inline(__always)
    package init(elapsed nanoseconds: UInt64) {
        self.init(attoseconds: Int128(truncatingIfNeeded: nanoseconds) &* 1_000_000_000)
    }
}
