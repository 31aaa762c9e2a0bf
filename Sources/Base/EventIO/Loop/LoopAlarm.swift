/// When a loop's timers fire next, and how it goes on after the process stood still.
///
/// A process that was stopped, or whose machine was suspended, finds every deadline in the past and
/// what its peers sent in the meantime unread. It reads first, so that a response that has arrived
/// does not time out.
struct LoopAlarm {
    /// The least delay of an alarm that shows a standstill: a busy loop is not as late.
    private static let standstill: UInt64 = 1_000_000_000
    /// The time for which the loop then only reads.
    private static let catchUp: UInt64 = 100_000_000

    /// When the alarm goes off, on the loop's clock; `.max` while it is not set.
    private(set) var time = UInt64.max
    private var isCatchingUp = false

    /// Sets the alarm, unless it goes off earlier anyway.
    ///
    /// - Returns: the delay from `now`, or `nil` if the alarm stays as it is.
    mutating func set(for next: UInt64, now: UInt64) -> UInt64? {
        // Nothing brings the end of a catch-up forward: the wheel has not turned, and counts from
        // before the standstill.
        guard next < time, !isCatchingUp || time == .max else { return nil }
        time = next
        return next > now ? next - now : 0
    }

    /// Takes the alarm down, because it went off or because the timers fire anyway.
    mutating func clear() { time = .max }

    /// Handles the alarm.
    ///
    /// - Returns: when to fire the timers if that has to wait for a catch-up; `nil` means now.
    mutating func goOff(at now: UInt64) -> UInt64? {
        let due = time
        time = .max
        let isStandstill = due < now && now - due >= LoopAlarm.standstill
        isCatchingUp = isStandstill && !isCatchingUp
        return isCatchingUp ? now + LoopAlarm.catchUp : nil
    }
}
