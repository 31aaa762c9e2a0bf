import NetworkCore

/// The task of a renewal, and the requests that wait for it.
struct RunningRenewal {
    let renewal: RenewalInProgress
    let waiters: RenewalWaiters
    let task: Task<Void, Never>
    let watchdog: Task<Void, Never>
}

/// The requests that wait while one tries a token.
struct RunningTrial {
    let waiters: RenewalWaiters
    let timer: Task<Void, Never>
}

/// The renewal and the trial in progress, and the requests that wait for them or for the end of a pause.
struct RenewalQueues {
    private(set) var renewal: RunningRenewal?
    private var trial: RunningTrial?
    /// The requests that wait for the end of the pause.
    private(set) var pauseWaiters: RenewalWaiters?

    /// The waiters of a queue, which must be in use.
    func waiters(in queue: WaitQueue) -> RenewalWaiters {
        let waiters =
            switch queue {
            case .renewal: renewal?.waiters
            case .trial: trial?.waiters
            }
        guard let waiters else { preconditionFailure("no \(queue) is running") }
        return waiters
    }

    /// Notes a renewal that has begun.
    mutating func begin(_ running: RunningRenewal) { renewal = running }

    /// Removes a renewal that has ended; `nil` if it was abandoned.
    mutating func remove(_ ended: RenewalInProgress) -> RunningRenewal? {
        guard let running = renewal, running.renewal == ended else { return nil }
        running.watchdog.cancel()
        renewal = nil
        return running
    }

    /// Notes a trial that has begun.
    mutating func begin(_ running: RunningTrial) { trial = running }

    /// Ends the waits for the trial.
    mutating func endTrial(_ outcome: RenewalOutcome) {
        trial?.timer.cancel()
        trial?.waiters.finish(outcome)
        trial = nil
    }

    /// Begins a pause; requests that wait for the end of an earlier one start over.
    mutating func beginPause(_ waiters: RenewalWaiters) {
        endPause()
        pauseWaiters = waiters
    }

    /// Ends the pause: requests that wait for its end start over.
    mutating func endPause() {
        pauseWaiters?.finish(.startOver)
        pauseWaiters = nil
    }
}
