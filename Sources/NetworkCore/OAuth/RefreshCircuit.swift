/// When a family may ask its token endpoint again: one for all callers, so that a failing server is
/// not asked by each of them.
struct RefreshCircuit {
    /// Guard against an endless loop: at most five refreshes in thirty seconds, as Alamofire has it.
    private static let excess = (count: 5, window: Duration.seconds(30))

    private(set) var failure: TokenEndpointError?
    private(set) var openUntil: ContinuousClock.Instant?
    private var failures = 0
    private var refreshes: [ContinuousClock.Instant] = []

    /// Why the endpoint is not to be asked now, if so, and for how long.
    func blocked(
        at now: ContinuousClock.Instant
    ) -> (failure: TokenEndpointError?, wait: Duration)? {
        if let openUntil, now < openUntil { return (failure, now.duration(to: openUntil)) }
        let recent = refreshes.filter { $0.duration(to: now) < RefreshCircuit.excess.window }
        guard recent.count >= RefreshCircuit.excess.count, let oldest = recent.first else {
            return nil
        }
        return (nil, RefreshCircuit.excess.window - oldest.duration(to: now))
    }

    mutating func succeeded(at now: ContinuousClock.Instant) {
        failure = nil
        openUntil = nil
        failures = 0
        refreshes = refreshes.filter { $0.duration(to: now) < RefreshCircuit.excess.window }
        refreshes.append(now)
    }

    /// - Returns: how long the endpoint is left alone.
    mutating func failed(
        _ error: TokenEndpointError,
        at now: ContinuousClock.Instant
    ) -> Duration {
        failure = error
        failures += 1
        let wait: Duration
        if let seconds = error.retryAfter {
            // Honoured, but no server parks us for longer than an hour.
            wait = .seconds(min(max(seconds, 1), 3600))
        } else if case .configuration = error.severity {
            wait = .seconds(60)
        } else {
            let window = Duration.seconds(min(1 << min(failures - 1, 6), 60))
            // Full jitter, with a second at least as the negative cache.
            wait = .seconds(1) + window * Double.random(in: 0...1) * (failures > 1 ? 1 : 0)
        }
        openUntil = now + wait
        return wait
    }

    mutating func reset() {
        failure = nil
        openUntil = nil
        failures = 0
    }
}
