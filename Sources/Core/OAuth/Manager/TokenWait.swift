import NetworkCore

/// The wait of one request for a token, at most until its deadline and the manager's own limit.
struct TokenWait {
    private let manager: OAuthManager
    private let deadline: ContinuousClock.Instant?
    /// The end of the wait.
    private let limit: ContinuousClock.Instant
    /// The end of the request's patience with failed renewals, counted from the first one; never after
    /// `limit`.
    ///
    /// A renewal that took long to fail leaves time for another one.
    private var patience: ContinuousClock.Instant?

    init(for manager: OAuthManager, until deadline: ContinuousClock.Instant?) {
        self.manager = manager
        self.deadline = deadline
        let limit = manager.clock.now + manager.configuration.waitTimeout
        self.limit = deadline.map { min($0, limit) } ?? limit
    }

    /// The token, once there is one.
    ///
    /// - Throws: `NetworkError`, see `OAuthManager.credential(until:)`.
    mutating func credential() async throws -> Credential {
        while true {
            let refusal: NetworkError
            switch await manager.admit() {
            case .credential(let credential): return credential
            case .refused(let reason): refusal = NetworkError(reason)
            case .wait(let waiters):
                switch await waiters.wait(until: limit, as: .request) {
                case .outcome(.credential(let credential)): return credential
                // After a refused token the next renewal is already in progress.
                case .outcome(.startOver), .outcome(.refusedAgain): continue
                case .outcome(.failed), .outcome(.dead), .outcome(.sameToken):
                    switch await manager.admitAfterWait() {
                    case .credential(let credential): return credential
                    case .refused(let reason): refusal = NetworkError(reason)
                    // Someone has signed in since, or a sign-in failed.
                    case .wait, nil: continue
                    }
                case .timedOut: return try await credentialAfterTimeout()
                case .full:
                    throw NetworkError.noCredential(
                        "too many requests wait for a token already",
                        retryAfter: 1
                    )
                case .cancelled: throw NetworkError.waitCancelled
                }
            }
            guard await waitsOutPause(as: .request) else { throw refusal }
        }
    }

    private func credentialAfterTimeout() async throws -> Credential {
        switch await manager.admitAfterWait() {
        case .credential(let credential): return credential
        case .refused(let reason): throw NetworkError(reason)
        case .wait, nil: break
        }
        if let deadline, deadline <= limit { throw NetworkError.timeout(.credential) }
        throw NetworkError.noCredential(
            "no token came within \(manager.configuration.waitTimeout.written), which is how long a "
                + "request waits for one here (waitTimeout); the renewal goes on",
            retryAfter: 1
        )
    }

    /// Judges a 401, and waits for the renewal that may help against it.
    mutating func verdict(on rejection: Rejection) async -> Verdict {
        guard let generation = rejection.generation else { return .passThrough(.staticCredential) }
        let triage = ChallengeTriage.judge(
            rejection.headers,
            content: rejection.content,
            of: manager.configuration.proof == nil ? .bearer : .bound
        )
        switch triage {
        case .passThrough(let reason):
            // A server that names another reason has looked at the token.
            await manager.handle(.responded(generation: generation, .accepted))
            return .passThrough(reason)
        case .proofRefused:
            return await manager.decide { engine, _ in
                engine.judgeProof(of: generation, rejection.intent)
            }
        case .suspected: return await verdict(on: .suspected, of: generation, rejection.intent)
        case .refused: return await verdict(on: .refused, of: generation, rejection.intent)
        }
    }

    private mutating func verdict(
        on doubt: TokenStanding.Doubt,
        of generation: Int,
        _ intent: Rejection.Intent
    ) async -> Verdict {
        while true {
            let verdict: Verdict
            switch await manager.judge(doubt, of: generation, intent) {
            case .verdict(let judged): verdict = judged
            case .wait(let waiters):
                let exit = await waiters.wait(until: limit, as: .replay)
                // The token of another process was tried and refused: its successor is on its way.
                if case .outcome(.startOver) = exit { continue }
                verdict = exit.verdict
            }
            guard verdict == .passThrough(.refreshFailed), intent == .replay,
                await waitsOutPause(as: .replay)
            else { return verdict }
        }
    }

    /// Waits for the end of the back-off, if that comes soon enough: a single 500 of the token endpoint
    /// then delays a request by a second and does not fail it.
    ///
    /// - Returns: whether to try again.
    private mutating func waitsOutPause(as purpose: RenewalWaiters.Purpose) async -> Bool {
        let now = manager.clock.now
        let patience = patience ?? min(limit, now + manager.configuration.failurePatience)
        self.patience = patience
        guard now < patience, let (pause, waiters) = await manager.pause,
            pause.failure.kind != OAuthFailure.excess, pause.end <= patience
        else { return false }
        switch await waiters.wait(until: pause.end, as: purpose) {
        case .outcome, .timedOut: return true
        case .cancelled, .full: return false
        }
    }
}
