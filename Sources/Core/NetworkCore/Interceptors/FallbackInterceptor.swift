/// Sends a request with the first credential that is neither limited nor dead; on failure, tries the next
/// one.
///
/// A credential is limited after a 429 (RFC 6585 §4) or a 402, for the time in `Retry-After`. It is dead if
/// there
/// is no token, or if a renewal cannot help after a 401. No request waits for a credential: if all are
/// refused,
/// the client gets the response with the shortest wait. The interceptor calls the chain of each credential at
/// most once, and never `next`.
package struct FallbackInterceptor: RequestInterceptor {
    /// A credential, with the chain that authorizes a request with it and sends it.
    package struct Account: Sendable {
        let chain: RequestChain
        let rest: CredentialCoolDown
    }

    private let accounts: [Account]
    private let clock: any NetworkClock
    private let replayLimit: Int
    private let spill: BodySpill?

    /// Creates the interceptor.
    ///
    /// - Parameters:
    ///   - accounts: the credentials in order of preference; at most 64.
    ///   - clock: the clock that measures their cool-downs.
    ///   - replayLimit: the largest number of bytes of a streamed request body to keep for the next
    ///     credential.
    ///   - spill: the store for longer bodies; `nil` if they are not kept.
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
        guard let last = order.last else {
            throw NetworkError(
                .httpRequestDenied,
                side: .downstream,
                retry: .safe,
                detail: "no credential of the channel is for this client",
                status: 403
            )
        }
        var request = request
        let length = request.body.length
        let buffer =
            order.count > 1
            ? request.keepBody(upTo: replayLimit, spill: spill, length: length) : nil
        defer { buffer?.release() }
        var attempt = request
        // The best response for the client so far.
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
        return try await send(attempt, withLast: last, &held, &context)
    }

    /// Sends the request with the last credential; returns the best of all responses.
    private func send(
        _ request: Request,
        withLast account: Account,
        _ held: inout Refusal?,
        _ context: inout RequestContext
    ) async throws -> Response {
        let sent = context.attempts
        do {
            let response = try await account.chain.send(request, context: &context)
            guard let refusal = refusal(response, account, context) else { return response }
            hold(refusal, &held)
        } catch let error as NetworkError where error.isLackOfCredential {
            note(error, account)
            // A response of the upstream tells the client more than this error.
            guard held != nil else { throw error }
            if context.attempts == sent { context.withdrawAttempt() }
        }
        guard let best = held.take()?.response else { throw NetworkError.cancelled }
        return best
    }

    /// A response after which another credential may succeed.
    private struct Refusal {
        let response: Response
        /// The end of the credential's cool-down; `nil` if the credential is dead.
        let end: ContinuousClock.Instant?
    }

    /// Keeps the response with the shorter wait, and cancels the other.
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

    /// Returns the credentials for a request: those without a cool-down, or else the one whose cool-down ends
    /// first.
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

    /// Returns the refusal if another credential may succeed after a response; `nil` if the response is
    /// final.
    private func refusal(
        _ response: Response,
        _ account: Account,
        _ context: borrowing RequestContext
    ) -> Refusal? {
        // The client's own credential was kept, so no other one is used.
        guard let facts = context.authorization else { return nil }
        if response.status == 429 || response.status == 402 {
            account.rest.begin(after: response.headers, on: clock)
            return Refusal(response: response, end: account.rest.end(at: clock.now) ?? clock.now)
        }
        // This is a 401, or the API's equivalent.
        if facts.notReplayed?.isDeath == true {
            account.rest.begin(after: [:], on: clock)
            return Refusal(response: response, end: nil)
        }
        if response.status != 401 { account.rest.reset() }
        return nil
    }

    /// Begins the cool-down of a credential without a token, because another attempt would delay the client.
    private func note(_ error: NetworkError, _ account: Account) {
        // A credential that requires a sign-in fails immediately.
        guard error.kind == .credentialUnavailable else { return }
        account.rest.begin(for: error.retryAfter.map { .seconds($0) }, on: clock)
    }
}

extension NotReplayed {
    /// Whether the credential itself was refused, and cannot be renewed now.
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
    /// Whether there was no credential for the request.
    fileprivate var isLackOfCredential: Bool {
        kind == .credentialUnavailable || kind == .reauthorizationRequired
    }
}
