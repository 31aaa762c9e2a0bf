extension EventLoop {
    /// How late the timer must be for the process to have stood still: a busy loop is not as late.
    private static var standstill: UInt64 { 1_000_000_000 }
    /// How long a loop then only reads.
    private static var catchUp: UInt64 { 100_000_000 }

    /// Fires what is due; behind a standstill a little later.
    ///
    /// A process that was stopped, or whose machine was paused, finds all deadlines over and what its
    /// peers sent meanwhile unread: that comes first, so that an answer which is here is not given up.
    package func timerDue() {
        let due = timerArmed
        readTime()
        if !isCatchingUp, due < now, now - due >= EventLoop.standstill {
            isCatchingUp = true
            timerArmed = .max
            return armTimer(for: now + EventLoop.catchUp)
        }
        isCatchingUp = false
        timerFired()
    }

    /// Moves the loop's clock forward and fires nothing: what tests have in place of a standstill.
    package func standStill(for duration: Duration) {
        preconditionCurrent()
        lead &+= duration.nanoseconds
    }
}
