import NetworkCore

extension RenewalWaiters.Exit {
    /// The verdict on a refused request after its wait.
    var verdict: Verdict {
        switch self {
        case .outcome(.credential(let credential)) where credential.isForOneUse:
            .replayOnce(credential)
        case .outcome(.credential), .outcome(.startOver): .replay
        case .outcome(.refusedAgain): .passThrough(.tokenRefusedAgain)
        case .outcome(.sameToken): .passThrough(.sameToken)
        case .outcome(.dead): .passThrough(.reauthorizationRequired)
        case .outcome(.failed(let failure)): .passThrough(NotReplayed(failure))
        case .timedOut, .cancelled, .full: .passThrough(.waitTimeout)
        }
    }

    /// Checks the end of a renewal that a command waited for.
    ///
    /// - Parameter now: the time from which the next attempt is counted.
    /// - Throws: the error that the command reports.
    func check(at now: UnixTime) throws(NetworkError) {
        switch self {
        case .outcome(.credential), .outcome(.sameToken), .outcome(.refusedAgain),
            .outcome(.startOver):
            return
        case .outcome(.dead(let failure)):
            throw NetworkError(.reauthorizationRequired, side: .proxy, detail: failure.detail)
        case .outcome(.failed(let failure)):
            let seconds = failure.nextAttempt.map { max(1, ($0 - now).wholeSeconds) }
            throw .noCredential(failure.detail, retryAfter: seconds ?? 1)
        case .cancelled: throw .commandCancelled
        case .timedOut, .full:
            throw .noCredential("the token request takes too long", retryAfter: 1)
        }
    }
}

extension NetworkError {
    /// No credential is available now.
    ///
    /// Not safe to retry: the back-off is shared by all requests, and a retry would only add to it.
    static func noCredential(_ detail: String, retryAfter: Int) -> NetworkError {
        NetworkError(
            .credentialUnavailable,
            side: .upstream,
            detail: detail,
            retryAfter: retryAfter
        )
    }

    /// The error of a request that gets no credential.
    init(_ refusal: RenewalBackoff.Refusal) {
        switch refusal {
        case .dead(let failure):
            self.init(.reauthorizationRequired, side: .proxy, detail: failure.detail)
            underlying = failure
        case .paused(let failure, let left):
            self = .noCredential(failure.detail, retryAfter: max(1, left.wholeSeconds))
            underlying = failure
        }
    }

    /// A request was cancelled while it waited for a token.
    static var waitCancelled: NetworkError {
        NetworkError(
            .cancelled,
            side: .downstream,
            retry: .safe,
            detail: "the request was cancelled while it waited for a token"
        )
    }

    /// A command was cancelled while it waited for a renewal.
    static var commandCancelled: NetworkError {
        NetworkError(
            .cancelled,
            side: .downstream,
            retry: .safe,
            detail: "the caller stopped waiting"
        )
    }
}
