/// Sends a request with the first of several credentials that is neither limited nor dead, and with the next
/// one where that turns out to be so.
///
/// A credential is limited after a 429 (RFC 6585 §4) or a 402, for as long as its `Retry-After` says, and
/// dead if there is no token or a 401 could not be cured. No request waits for one: when all are
/// limited, the app gets what the upstream says to the last of them. Calls the chain of each credential at
/// most once, and never `next`.
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
        let order = order(in: context.accounts)
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
        // The answer to one before, until there is a better one.
        var held: Response?
        defer { held?.body.cancel() }
        for account in order.dropLast() {
            let sent = context.attempts
            do {
                let response = try await account.chain.send(attempt, context: &context)
                guard let reason = limit(in: response, account, context) else { return response }
                guard let again = request.again() else { return response }
                attempt = again
                held?.body.cancel()
                held = response
                context.beginNextAttempt(because: reason)
                context.startOfAccount = context.retries.count
            } catch let error as NetworkError where error.isLackOfCredential {
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
            _ = limit(in: response, last, context)
            return response
        } catch let error as NetworkError where error.isLackOfCredential && held != nil {
            // What the upstream said tells the app more.
            defer { held = nil }
            guard let answer = held else { throw error }
            if context.attempts == sent { context.withdrawAttempt() }
            return answer
        }
    }

    /// The credentials that a request may have: those that rest come last, that which rests longest at the
    /// very end.
    private func order(in places: UInt64) -> [Account] {
        let now = clock.now
        var ready: [Account] = []
        var resting: [(end: ContinuousClock.Instant, account: Account)] = []
        for (index, account) in accounts.enumerated() where places & 1 << UInt64(index) != 0 {
            if let end = account.rest.end(at: now) {
                resting.append((end, account))
            } else {
                ready.append(account)
            }
        }
        // One that is limited is asked only where there is no other.
        guard ready.isEmpty else { return ready }
        return resting.min { $0.end < $1.end }.map { [$0.account] } ?? []
    }

    /// Why another credential may do better than the one that was answered; `nil` if the answer is final.
    private func limit(
        in response: borrowing Response,
        _ account: Account,
        _ context: borrowing RequestContext
    ) -> RetryReason? {
        let status = response.status
        switch status {
        case 429, 402:
            account.rest.begin(after: response.headers, on: clock)
            return .status(status)
        case 401 where context.authorization?.notReplayed?.isDeath != true: return nil
        // A 401, or what the API answers instead.
        case _ where context.authorization?.notReplayed?.isDeath == true:
            account.rest.begin(after: [:], on: clock)
            return .status(status)
        default:
            account.rest.reset()
            return nil
        }
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
