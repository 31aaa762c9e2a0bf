/// Sends a request once more when its token was refused and another token can be had.
///
/// Stands outside `AuthorizationInterceptor`, so that the second attempt is signed afresh. Calls
/// `next` at most twice, once more for an origin that does not know `Expect`, and once more for one
/// that wants another proof of possession. A 401 that cannot be cured is passed through as the
/// upstream sent it, with the reason in `context.authorization`.
public struct ReauthorizationInterceptor: ReviewingInterceptor {
    /// The longest body of a 401 that is read so that its connection can be used again.
    private static let drainLimit = 64 * 1024
    /// How long that may take.
    private static let drainTime = Duration.seconds(1)

    private let authorizer: any Authorizing
    private let replays: Bool
    private let replayLimit: Int
    private let spill: BodySpill?

    /// Makes the step.
    ///
    /// - Parameters:
    ///   - authorizer: judges a 401; the same that signs.
    ///   - replays: whether a request is sent again. If not, a 401 still has the token renewed, for
    ///     the next request. Default yes.
    ///   - replayLimit: how many bytes of a streamed request body are kept for the second attempt.
    ///     Default 64 KiB.
    ///   - spill: where longer bodies are kept instead; nothing if they are not.
    public init(
        authorizer: any Authorizing,
        replays: Bool = true,
        replayLimit: Int = 64 * 1024,
        spill: BodySpill? = nil
    ) {
        self.authorizer = authorizer
        self.replays = replays
        self.replayLimit = replayLimit
        self.spill = spill
    }

    /// Sends the request, and again where that may cure a 401.
    ///
    /// - Throws: what `next` throws.
    public func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        guard replays, case .stream(_, let length) = request.body else {
            return try await sendAndReview(request, context: &context, next: next)
        }
        guard let source = request.body.readOnceSource else {
            return try await exchange(request, context: &context, next: next)
        }
        let buffer = ReplayBuffer(source, length: length, limit: replayLimit, spill: spill)
        var recorded = request
        recorded.body = buffer.body()
        defer { buffer.release() }
        return try await exchange(recorded, context: &context, next: next)
    }

    /// Whether there is no body that would have to be kept for a replay.
    package func begin(_ request: borrowing Request, context: inout RequestContext) -> Bool {
        guard replays, case .stream = request.body else { return true }
        return false
    }

    /// Whether the credential was not refused.
    package func accepts(
        _ response: borrowing Response,
        context: inout RequestContext
    ) -> Bool {
        response.status != 401 || context.authorization == nil
    }

    /// Has the credential renewed after a 401, and sends once more.
    package func review(
        _ outcome: Result<Response, any Error>,
        of request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        try await cure(try outcome.get(), request, context: &context, next: next)
    }

    private func exchange(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        let first = try await attempt(request, context: &context, next: next)
        if accepts(first, context: &context) { return first }
        return try await cure(first, request, context: &context, next: next)
    }

    /// Finds out whether another credential helps, and sends once more if it may: once for the token
    /// and once for the proof.
    private func cure(
        _ first: Response,
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        var refused = first
        while true {
            let start = authorizer.clock.now
            let rejection = rejection(refused, of: request, context)
            let verdict = await authorizer.rejected(rejection)
            // A verdict that is known already takes some microseconds, a renewal more than that.
            if authorizer.clock.now - start >= .milliseconds(1) {
                context.authorization?.addWait(since: start, on: authorizer.clock)
            }
            switch Remedy(verdict, to: rejection.intent, behind: context.retries) {
            case .none(let reason):
                return try leave(refused, as: reason, &context)
            case .attempt(let cause, let credential):
                // Looked at again: while the token was renewed the upload may have gone on.
                guard var again = request.again() else {
                    return try leave(refused, as: .bodyNotReplayable, &context)
                }
                context.beginNextAttempt(because: cause)
                if cause == .unauthorized { context.authorization?.isRefreshed = true }
                context.ownCredential = credential
                let kept = await drain(refused.body, context)
                // The body is here, or on its way: there is nothing left to expect.
                again.headers.remove(HTTPFieldName.expect)
                let sent = context.attempts
                do {
                    let answer = try await next.send(again, context: &context)
                    if accepts(answer, context: &context) { return answer }
                    refused = answer
                } catch let error as NetworkError
                    where error.isForWantOfCredential && context.attempts == sent
                {
                    // The new token ended before it was used: the upstream's own words are better.
                    guard let kept else { throw error }
                    refused.body = kept.isEmpty ? .empty : .bytes(kept)
                    context.withdrawAttempt()
                    return try leave(refused, as: .refreshFailed, &context)
                }
            }
        }
    }

    /// Makes a 401 the answer.
    private func leave(
        _ refused: Response,
        as reason: NotReplayed,
        _ context: inout RequestContext
    ) throws -> Response {
        context.authorization?.notReplayed = reason
        guard !Task.isCancelled else {
            // Nobody is there to take it.
            refused.body.cancel()
            throw NetworkError.cancelled
        }
        return refused
    }

    /// Sends the request for the first time.
    ///
    /// An upload that is not kept for a replay, be it too long or read anew, asks first where the token
    /// has not served yet, or the nonce of the proof may have run out: a 401 then costs no body.
    private func attempt(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        let isRecording = ReplayBuffer.recording(request.body)?.isRecording ?? false
        guard !isRecording, !request.headers.contains(HTTPFieldName.expect), mayBeRefused(request)
        else { return try await next.send(request, context: &context) }
        var asking = request
        asking.headers.append(.expect, validated: "100-continue")
        let answer = try await next.send(asking, context: &context)
        // RFC 9110 §10.1.1: who answers 417 wants the request without the question.
        guard answer.status == 417, let plain = request.again() else { return answer }
        _ = await drain(answer.body, context)
        context.beginNextAttempt(because: .status(417))
        return try await next.send(plain, context: &context)
    }

    /// Whether the token that goes with the next attempt may be refused for all that is known, or the
    /// proof that goes with it.
    private func mayBeRefused(_ request: Request) -> Bool {
        guard let credential = authorizer.currentCredential() else { return true }
        if let proof = credential.proof, proof.mayBeRefused(by: request.origin) { return true }
        return credential.generation != nil && !credential.isProven
    }

    private func rejection(
        _ response: Response,
        of request: Request,
        _ context: RequestContext
    ) -> Rejection {
        let intent: Rejection.Intent =
            if context.retries.contains(.unauthorized) {
                .afterReplay
            } else if !replays {
                .report(.replayOff)
            } else if request.body.canBeSentAgain() {
                .replay
            } else {
                .report(.bodyNotReplayable)
            }
        return Rejection(
            generation: context.authorization?.generation,
            headers: response.headers,
            intent: intent,
            deadline: context.deadline
        )
    }

    /// Reads a body to its end, or cancels it when it is long, slow or broken; then there is nothing.
    private func drain(_ body: HTTPBody, _ context: RequestContext) async -> ByteSlice? {
        if let length = body.length, length > Self.drainLimit {
            body.cancel()
            return nil
        }
        do {
            let soon = authorizer.clock.now + Self.drainTime
            return try await body.collect(
                upTo: Self.drainLimit,
                until: context.deadline.map { min($0, soon) } ?? soon,
                on: authorizer.clock
            )
        } catch {
            body.cancel()
            return nil
        }
    }
}

extension NetworkError {
    /// Whether the lack of a credential ends an exchange with it, if nothing was sent.
    fileprivate var isForWantOfCredential: Bool {
        switch kind {
        case .credentialUnavailable, .reauthorizationRequired, .httpResponseTimeout: true
        default: false
        }
    }
}
