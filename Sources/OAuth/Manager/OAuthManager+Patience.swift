import NetworkCore

extension OAuthManager {
    /// How long somebody who comes now bears failed attempts; never longer than `limit`.
    nonisolated func patienceLimit(_ limit: ContinuousClock.Instant) -> ContinuousClock.Instant {
        min(limit, clock.now + configuration.failurePatience)
    }

    /// Waits for the end of the back-off, where that comes soon enough.
    ///
    /// A single 500 of the token endpoint then costs a request a second and not its life.
    ///
    /// - Parameters:
    ///   - end: how long the caller bears failed attempts.
    ///   - purpose: what it waits for.
    /// - Returns: whether to try again.
    nonisolated func outlivesFailure(
        until end: ContinuousClock.Instant,
        as purpose: WaitingRoom.Purpose
    ) async -> Bool {
        guard clock.now < end, let outage = await trouble.outage,
            outage.failure.kind != OAuthFailure.excess, outage.until <= end
        else { return false }
        switch await outage.room.wait(until: outage.until, as: purpose) {
        case .outcome, .timedOut: return true
        case .cancelled, .full: return false
        }
    }
}
