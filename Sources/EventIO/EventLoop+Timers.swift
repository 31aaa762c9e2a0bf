import CLibevent
import Glibc
// The C struct timeval counts as this module's or as Glibc's, whichever the compiler loads first.
import SwiftOverlayShims

extension EventLoop {
    /// Calls `entry.fire()` once `deadline` (on the loop's clock) has passed, up to 32 ms later.
    @inline(__always)
    package func schedule(_ entry: TimerEntry, at deadline: UInt64) {
        if let turn = unsafe wheel.schedule(entry, at: deadline) { armTimer(for: turn) }
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
    /// - Throws: `CancellationError` when the task is cancelled meanwhile.
    package func sleep(for duration: Duration) async throws {
        try await Sleeper.sleep(on: self, until: now &+ duration.nanoseconds)
    }

    /// A deadline that far from now on the loop's clock; nothing means never.
    @inline(__always)
    package func deadline(after duration: Duration?) -> UInt64 {
        guard let duration else { return .max }
        return now &+ duration.nanoseconds
    }

    func timerFired() {
        timerArmed = .max
        readTime()
        for entry in unsafe wheel.turn(now: now) { entry.fireIfDue() }
        if let next = unsafe wheel.nextTurn { armTimer(for: next) }
    }

    /// Moves the loop's clock forward and fires what is due then: what tests have in place of waiting.
    package func advance(by duration: Duration) {
        preconditionCurrent()
        lead &+= duration.nanoseconds
        timerFired()
    }

    func armTimer(for next: UInt64) {
        // Until the catch-up is over nothing brings it forward: the wheel has not turned, and counts
        // from before the standstill.
        guard next < timerArmed, !isCatchingUp || timerArmed == .max else { return }
        timerArmed = next
        let delay = next > now ? next - now : 0
        var interval = timeval(
            tv_sec: Int(delay / 1_000_000_000),
            tv_usec: Int(delay % 1_000_000_000 / 1000) + 1
        )
        unsafe event_add(timerEvent, &interval)
    }
}
