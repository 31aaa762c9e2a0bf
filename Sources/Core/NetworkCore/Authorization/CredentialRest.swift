import Synchronization

/// How long a credential is left alone after the upstream has said that it is limited.
package final class CredentialRest: Sendable {
    /// The longest rest: a mistaken `Retry-After` of years heals by itself, since it is tried again then.
    private static let longest = Duration.seconds(3600)
    /// The first rest after an answer without `Retry-After`; each further one doubles it.
    private static let first = Duration.seconds(1)
    /// The longest rest after answers without `Retry-After`.
    private static let longestGuess = Duration.seconds(60)

    private struct State {
        var end: ContinuousClock.Instant?
        /// How often in a row the upstream has named no time.
        var guesses = 0
    }

    private let state = Mutex(State())

    /// A credential that may be used.
    package init() {}

    /// When the rest is over; `nil` if it is.
    package func end(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        state.withLock { state in
            guard let end = state.end, end > now else { return nil }
            return end
        }
    }

    /// Begins a rest: as long as `Retry-After` says (RFC 9110 §10.2.3), else a short one.
    func begin(after headers: HTTPHeaders, on clock: any NetworkClock) {
        begin(for: RetryAfter.duration(in: headers, now: clock.wallNow), on: clock)
    }

    /// Begins a rest of this length; of a short one, if it is not known.
    func begin(for told: Duration?, on clock: any NetworkClock) {
        let now = clock.now
        state.withLock { state in
            guard let told else {
                let guess = CredentialRest.first * (1 << min(state.guesses, 6))
                state.guesses += 1
                state.end = now + min(guess, CredentialRest.longestGuess)
                return
            }
            state.guesses = 0
            state.end = now + min(told, CredentialRest.longest)
        }
    }

    /// Ends the rest: a request was not limited.
    func reset() {
        state.withLock { $0 = State() }
    }
}
