extension EventLoop {
    /// The loop's clock, in nanoseconds; it stands still within a turn of the loop, from the first
    /// look at it behind the wait for events.
    @inline(__always)
    package var now: UInt64 {
        if unsafe isTimeOver { readTime() }
        return unsafe time
    }

    /// The time of the calendar at this turn of the loop, in nanoseconds since 1970.
    ///
    /// A change of the system's clock is seen after 50 ms at the latest.
    package var wallNow: UInt64 {
        let present = now &- lead
        return unsafe calendar.time(at: present)
    }

    @inline(never)
    func readTime() {
        unsafe time = monotonicNanoseconds() &+ lead
        unsafe isTimeOver = false
    }

    /// Has the next look at the clock read it.
    func forgetTime() {
        unsafe isTimeOver = true
    }
}
