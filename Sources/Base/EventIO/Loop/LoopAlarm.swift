/// The time at which a loop's timers fire next, and the recovery after a standstill of the process.
///
/// After the process was stopped or the machine was suspended, every deadline has passed, and the data that
/// peers sent in the meantime is unread. The loop reads first, so that a response that has arrived does not
/// time out.
struct LoopAlarm {
    /// The minimum delay of an alarm that indicates a standstill; a busy loop is never as late.
    private static let standstill: UInt64 = 1_000_000_000
    /// The time during which the loop then only reads.
    private static let catchUp: UInt64 = 100_000_000

    /// The time of the alarm on the loop's clock; `.max` if it is not set.
    private(set) var time = UInt64.max
    private var isCatchingUp = false

    /// Sets the alarm, unless it is already set for an earlier time.
    ///
    /// - Returns: the delay from `now`, or `nil` if the alarm is unchanged.
    mutating func set(for next: UInt64, now: UInt64) -> UInt64? {
        // Nothing may shorten a catch-up: the wheel has not turned, and still counts from before the
        // standstill.
        guard next < time, !isCatchingUp || time == .max else { return nil }
        time = next
        return next > now ? next - now : 0
    }

    /// Clears the alarm, because it went off or because the timers fire anyway.
    mutating func clear() { time = .max }

    /// Handles the alarm.
    ///
    /// - Returns: the time to fire the timers after a catch-up; `nil` means now.
    mutating func goOff(at now: UInt64) -> UInt64? {
        let due = time
        time = .max
        let isStandstill = due < now && now - due >= LoopAlarm.standstill
        isCatchingUp = isStandstill && !isCatchingUp
        return isCatchingUp ? now + LoopAlarm.catchUp : nil
    }
}
