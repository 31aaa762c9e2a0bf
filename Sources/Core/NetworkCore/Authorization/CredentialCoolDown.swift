import Synchronization

/// The cool-down of a credential after the upstream has limited it.
package final class CredentialCoolDown: Sendable {
    /// The longest cool-down; it limits the damage of a mistaken `Retry-After` of years.
    private static let longest = Duration.seconds(3600)
    /// The first cool-down after a response without `Retry-After`; each further one is twice as long.
    private static let first = Duration.seconds(1)
    /// The longest cool-down after responses without `Retry-After`.
    private static let longestGuess = Duration.seconds(60)

    private struct State {
        var end: ContinuousClock.Instant?
        /// The number of consecutive limits without `Retry-After`.
        var guesses = 0
    }

    private let state = Mutex(State())

    /// Creates a credential without a cool-down.
    package init() {}

    /// Returns the end of the cool-down; `nil` if there is none.
    package func end(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        state.withLock { state in
            guard let end = state.end, end > now else { return nil }
            return end
        }
    }

    /// Begins a cool-down with the duration in `Retry-After` (RFC 9110 §10.2.3), or a short one without that
    /// field.
    func begin(after headers: HTTPHeaders, on clock: any NetworkClock) {
        begin(for: RetryAfter.duration(in: headers, now: clock.wallNow), on: clock)
    }

    /// Begins a cool-down with a duration, or a short one if the duration is `nil`.
    func begin(for told: Duration?, on clock: any NetworkClock) {
        let now = clock.now
        state.withLock { state in
            guard let told else {
                let guess = CredentialCoolDown.first * (1 << min(state.guesses, 6))
                state.guesses += 1
                state.end = now + min(guess, CredentialCoolDown.longestGuess)
                return
            }
            state.guesses = 0
            state.end = now + min(told, CredentialCoolDown.longest)
        }
    }

    /// Ends the cool-down after a request that was not limited.
    func reset() {
        state.withLock { $0 = State() }
    }
}
