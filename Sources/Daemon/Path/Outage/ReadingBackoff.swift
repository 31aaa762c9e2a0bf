/// The pauses between attempts to read secrets that could not be read.
///
/// Full jitter between 1 s and a ceiling that doubles: to 8 s while requests need the secrets, as for token
/// requests, and to 30 s otherwise.
struct ReadingBackoff {
    private static let least = 1.0
    private static let requestCeiling = 8.0
    private static let ceiling = 30.0

    private(set) var failuresInRow = 0
    /// The start of the next attempt if no request needs it earlier.
    private(set) var due: ContinuousClock.Instant
    /// The earliest start of an attempt for a request.
    private(set) var dueForRequest: ContinuousClock.Instant

    init(at now: ContinuousClock.Instant) {
        (due, dueForRequest) = (now, now)
    }

    /// Sets the next attempt after a failed one.
    ///
    /// - Parameters:
    ///   - now: the time.
    ///   - jitter: a random number from 0 to 1.
    mutating func fail(at now: ContinuousClock.Instant, jitter: Double) {
        failuresInRow += 1
        let doubled = Double(1 << min(failuresInRow - 1, 10))
        func delay(upTo ceiling: Double) -> Duration {
            .seconds(max(Self.least, min(doubled, ceiling) * jitter))
        }
        due = now + delay(upTo: Self.ceiling)
        dueForRequest = now + delay(upTo: Self.requestCeiling)
    }
}
