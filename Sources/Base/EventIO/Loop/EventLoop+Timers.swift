extension EventLoop {
    /// The loop's clock, in nanoseconds; it stands still within a turn of the loop, from its first
    /// use after the wait for events.
    @inline(__always)
    package var now: UInt64 { unsafe clock.now }

    /// The time in nanoseconds since 1970 at this turn of the loop.
    ///
    /// A change of the system's clock shows after 50 ms at the latest.
    package var wallNow: UInt64 { unsafe clock.wallNow }

    /// How long the machine has been suspended since it started, in nanoseconds: the loop's clock stood
    /// still then.
    ///
    /// Two readings differ by the length of a turn without a suspension.
    package var timeSuspended: Int64 { unsafe clock.suspension }

    /// Counts the machine as suspended for so long: for tests.
    package func pretendSuspension(_ duration: Duration) {
        unsafe clock.pretendSuspension(duration)
    }

    /// The deadline that far from now on the loop's clock; `.max`, which is never, for `nil`.
    @inline(__always)
    package func deadline(after duration: Duration?) -> UInt64 {
        guard let duration else { return .max }
        return now &+ duration.nanoseconds
    }

    /// Calls `entry.fire()` once `deadline` (on the loop's clock) has passed, up to 32 ms later.
    @inline(__always)
    package func schedule(_ entry: TimerEntry, at deadline: UInt64) {
        if let turn = unsafe wheel.schedule(entry, at: deadline) { setAlarm(for: turn) }
    }

    /// Calls off the next `fire()`.
    @inline(__always)
    package func suspend(_ entry: TimerEntry) {
        unsafe wheel.suspend(entry)
    }

    /// Calls off the next `fire()`, and forgets the entry.
    package func remove(_ entry: TimerEntry) {
        unsafe wheel.remove(entry)
    }

    /// Waits on the loop.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    package func sleep(for duration: Duration) async throws {
        try await Sleeper.sleep(on: self, until: now &+ duration.nanoseconds)
    }

    /// Fires the due entries; after a standstill of the process, the loop reads for a while first.
    func timerDue() {
        unsafe clock.read()
        if let end = unsafe alarm.goOff(at: now) { setAlarm(for: end) } else { fireTimers() }
    }

    /// Moves the loop's clock forward and fires the entries that are due then: for tests, instead of waiting.
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
