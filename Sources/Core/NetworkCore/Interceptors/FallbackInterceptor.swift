/// Sends a request with the first of several credentials that is neither limited nor dead, and with the next
/// one where that turns out to be so.
///
/// A credential is limited after a 429 (RFC 6585 §4) or a 402, for as long as its `Retry-After` says, and
/// dead if there is no token or a 401 could not be cured. No request waits for one: when all refuse, the
/// app gets the answer that sends it away for the shortest time. Calls the chain of each credential at most
/// once, and never `next`.
package struct FallbackInterceptor: RequestInterceptor {
    /// A credential with what signs, and sends, by it.
    package struct Account: Sendable {
        let chain: RequestChain
        let rest: CredentialRest
    }

    private let accounts: [Account]
    private let clock: any NetworkClock
    private let replayLimit: Int
    private let spill: BodySpill?

    /// Makes the step.
    ///
    /// - Parameters:
    ///   - accounts: in the order in which they are used; at most 64.
    ///   - clock: measures how long they rest.
    ///   - replayLimit: how many bytes of a streamed request body are kept for the next one.
    ///   - spill: where longer bodies are kept; `nil` if they are not.
    package init(
        _ accounts: [Account],
        clock: any NetworkClock,
        replayLimit: Int,
        spill: BodySpill?
    ) {
        self.accounts = accounts
        self.clock = clock
        self.replayLimit = replayLimit
        self.spill = spill
    }

    package func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        let order = order(in: context)
        var request = request
        var buffer: ReplayBuffer?
        if order.count > 1, let source = request.body.readOnceSource {
            let length = request.body.length
            let kept = ReplayBuffer(source, length: length, limit: replayLimit, spill: spill)
            request.body = kept.body()
            buffer = kept
        }
        defer { buffer?.release() }
        var attempt = request
        // The answer to one before that is the best for the app, until there is a better one.
        var held: Refusal?
        defer { held?.response.body.cancel() }
        for account in order.dropLast() {
            let sent = context.attempts
            do {
                let response = try await account.chain.send(attempt, context: &context)
                guard let refusal = refusal(response, account, context),
                    let again = request.again()
                else { return response }
                attempt = again
                hold(refusal, &held)
                context.beginNextAttempt(because: .status(refusal.response.status))
                context.startOfAccount = context.retries.count
            } catch let error as NetworkError where error.isLackOfCredential {
                note(error, account)
                guard let again = request.again() else { throw error }
                attempt = again
                if context.attempts > sent { context.beginNextAttempt(because: .fault(error.kind)) }
            }
        }
        guard let last = order.last else {
            throw NetworkError(
                .httpRequestDenied,
                side: .downstream,
                retry: .safe,
                detail: "no credential of the channel is for this client",
                status: 403
            )
        }
        let sent = context.attempts
        do {
            let response = try await last.chain.send(attempt, context: &context)
            guard let refusal = refusal(response, last, context) else { return response }
            hold(refusal, &held)
        } catch let error as NetworkError where error.isLackOfCredential {
            note(error, last)
            // What the upstream said tells the app more.
            guard held != nil else { throw error }
            if context.attempts == sent { context.withdrawAttempt() }
        }
        defer { held = nil }
        guard let best = held?.response else { throw NetworkError.cancelled }
        return best
    }

    /// An answer that says that another credential may do better.
    private struct Refusal {
        let response: Response
        /// When the credential may be used again; `nil` if it is dead.
        let end: ContinuousClock.Instant?
    }

    /// Keeps the answer that sends the app away for the shortest time, and drops the other.
    private func hold(_ refusal: Refusal, _ held: inout Refusal?) {
        guard let other = held else { return held = refusal }
        let isBetter =
            switch (refusal.end, other.end) {
            case (let end?, let known?): end < known
            case (_?, nil): true
            case (nil, _): false
            }
        (isBetter ? other : refusal).response.body.cancel()
        if isBetter { held = refusal }
    }

    /// The credentials that a request may have: none that rests, unless all do; then the one whose rest is
    /// over first.
    private func order(in context: borrowing RequestContext) -> [Account] {
        let (places, preferred) = (context.accounts, context.preferredAccounts)
        let now = clock.now
        var ready: [[Account]] = [[], []]
        var resting: [(end: ContinuousClock.Instant, account: Account)] = []
        for (index, account) in accounts.enumerated() where places & 1 << UInt64(index) != 0 {
            if let end = account.rest.end(at: now) {
                resting.append((end, account))
            } else {
                ready[preferred & 1 << UInt64(index) != 0 ? 0 : 1].append(account)
            }
        }
        guard ready.allSatisfy(\.isEmpty) else { return ready[0] + ready[1] }
        return resting.min { $0.end < $1.end }.map { [$0.account] } ?? []
    }

    /// Why another credential may do better than the one that was answered; `nil` if the answer is final.
    private func refusal(
        _ response: Response,
        _ account: Account,
        _ context: borrowing RequestContext
    ) -> Refusal? {
        // The app's own credential was kept: no other one will do better.
        guard let facts = context.authorization else { return nil }
        if response.status == 429 || response.status == 402 {
            account.rest.begin(after: response.headers, on: clock)
            return Refusal(response: response, end: account.rest.end(at: clock.now) ?? clock.now)
        }
        // A 401, or what the API answers instead.
        if facts.notReplayed?.isDeath == true {
            account.rest.begin(after: [:], on: clock)
            return Refusal(response: response, end: nil)
        }
        if response.status != 401 { account.rest.reset() }
        return nil
    }

    /// Leaves a credential alone that has no token now: to ask for it again would hold the app.
    private func note(_ error: NetworkError, _ account: Account) {
        // One that needs a sign-in says so at once.
        guard error.kind == .credentialUnavailable else { return }
        account.rest.begin(for: error.retryAfter.map { .seconds($0) }, on: clock)
    }
}

extension NotReplayed {
    /// Whether the credential itself was refused, and nothing can renew it now.
    fileprivate var isDeath: Bool {
        switch self {
        case .staticCredential, .alreadyReplayed, .tokenRefusedAgain, .sameToken, .excess,
            .refreshFailed, .reauthorizationRequired:
            true
        case .insufficientScope, .invalidRequest, .stepUpRequired, .proofRefused, .clockAgrees,
            .bodyNotReplayable, .replayOff, .waitTimeout:
            false
        }
    }
}

extension NetworkError {
    /// Whether there was no credential to send the request with.
    fileprivate var isLackOfCredential: Bool {
        kind == .credentialUnavailable || kind == .reauthorizationRequired
    }
}
