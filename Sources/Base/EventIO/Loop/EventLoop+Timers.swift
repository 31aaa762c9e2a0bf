extension EventLoop {
    /// The loop's clock, in nanoseconds.
    ///
    /// Within a turn it stands still from its first use after the wait for events.
    @inline(__always)
    package var now: UInt64 { unsafe clock.now }

    /// The time of this turn, in nanoseconds since 1970.
    ///
    /// A change of the system's clock is visible after at most 50 ms.
    package var wallNow: UInt64 { unsafe clock.wallNow }

    /// The total suspension of the machine since its start, in nanoseconds; the loop's clock stood still
    /// meanwhile.
    ///
    /// Without a suspension, two readings differ by at most the length of a turn.
    package var timeSuspended: Int64 { unsafe clock.suspension }

    /// Adds to the suspension of the machine, for tests.
    package func pretendSuspension(_ duration: Duration) {
        unsafe clock.pretendSuspension(duration)
    }

    /// Returns the deadline after a duration on the loop's clock; `.max`, which is never, for `nil`.
    @inline(__always)
    package func deadline(after duration: Duration?) -> UInt64 {
        guard let duration else { return .max }
        return now &+ duration.nanoseconds
    }

    /// Calls `entry.fire()` within 32 ms after `deadline`, which is on the loop's clock.
    @inline(__always)
    package func schedule(_ entry: TimerEntry, at deadline: UInt64) {
        if let turn = unsafe wheel.schedule(entry, at: deadline) { setAlarm(for: turn) }
    }

    /// Cancels the next `fire()`.
    @inline(__always)
    package func suspend(_ entry: TimerEntry) {
        unsafe wheel.suspend(entry)
    }

    /// Cancels the next `fire()` and removes the entry.
    package func remove(_ entry: TimerEntry) {
        unsafe wheel.remove(entry)
    }

    /// Waits on the loop.
    ///
    /// - Throws: `CancellationError` if the task is canceled.
    package func sleep(for duration: Duration) async throws {
        try await Sleeper.sleep(on: self, until: now &+ duration.nanoseconds)
    }

    /// Fires the due entries; after a standstill of the process, the loop first reads for some time.
    func timerDue() {
        unsafe clock.read()
        if let end = unsafe alarm.goOff(at: now) { setAlarm(for: end) } else { fireTimers() }
    }

    /// Advances the loop's clock and fires the entries that become due, for tests instead of waiting.
    package func advance(by duration: Duration) {
        preconditionCurrent()
        unsafe clock.skip(duration)
        unsafe alarm.clear()
        fireTimers()
    }

    private func fireTimers() {
        for entry in unsafe wheel.turn(now: now) { entry.fireIfDue() }
        if let next = unsafe wheel.nextTurn { setAlarm(for: next) }
    }

    private func setAlarm(for time: UInt64) {
        if let delay = unsafe alarm.set(for: time, now: now) { setTimer(after: delay) }
    }
}
