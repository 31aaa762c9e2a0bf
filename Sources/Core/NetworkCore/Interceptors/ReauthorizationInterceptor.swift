/// Sends a request again if its token was refused and there is another token.
///
/// It runs outside `AuthorizationInterceptor`, so that the second attempt gets the new credential. It calls
/// `next` at most twice, plus once each for an origin that does not support `Expect`, for one that requires
/// another proof of possession, and after a replay with a token that may be older than the 401. If it cannot
/// resolve a refusal, it returns the upstream's response unchanged and records the reason in
/// `context.authorization`. Refusals are a 401, UNAUTHENTICATED in a gRPC call, and the responses that match
/// the
/// `RefusalRule`.
public struct ReauthorizationInterceptor: RequestInterceptor {
    private let authorizer: any Authorizing
    private let replays: Bool
    private let replayLimit: Int
    private let spill: BodySpill?
    private let refusals: RefusalRule

    /// Creates the interceptor.
    ///
    /// - Parameters:
    ///   - authorizer: the authorizer that evaluates a 401; the same as in `AuthorizationInterceptor`.
    ///   - replays: whether a request is sent again. If not, a 401 still renews the token if that may help
    ///     the next
    ///     request. Default `true`.
    ///   - replayLimit: the maximum number of bytes of a streamed request body to keep for the second
    ///     attempt.
    ///     Default 64 KiB.
    ///   - spill: the store for longer bodies; `nil` if they are not kept.
    ///   - refusals: the responses that mean that the token was refused. Default: a 401.
    public init(
        authorizer: any Authorizing,
        replays: Bool = true,
        replayLimit: Int = 64 * 1024,
        spill: BodySpill? = nil,
        refusals: RefusalRule = RefusalRule()
    ) {
        self.refusals = refusals
        self.authorizer = authorizer
        self.replays = replays
        self.replayLimit = replayLimit
        self.spill = spill
    }

    /// Sends the request, and again if that may resolve a 401.
    ///
    /// - Throws: the errors of `next`.
    public func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        var request = request
        if refusals.searchesContent { ContentInflation.restrict(&request.headers) }
        let length = request.body.length
        let buffer =
            replays ? request.keepBody(upTo: replayLimit, spill: spill, length: length) : nil
        defer { buffer?.release() }
        var response = try await first(request, context: &context, next: next)
        while !accepts(response, context) {
            let isRPC = RPCStatus.isRefusal(response, over: context.version)
            let content = isRPC ? nil : await readAhead(&response)
            guard isRPC || refusals.applies(to: response.status, response.headers, content)
            else {
                noteAcceptance(of: response, context)
                return response
            }
            let (cause, credential): (RetryReason, Credential?)
            switch await decide(on: response, content, to: request, &context) {
            case .passThrough(let reason): return try leave(response, as: reason, &context)
            case .attempt(let reason, let own): (cause, credential) = (reason, own)
            }
            // Check again, because the upload may have continued during the renewal.
            guard var again = request.again() else {
                return try leave(response, as: .bodyNotReplayable, &context)
            }
            context.beginNextAttempt(because: cause)
            if cause == .unauthorized { context.authorization?.isRefreshed = true }
            context.ownCredential = credential
            let drained = await drain(response.body, context)
            // The body has arrived or is arriving, so there is no need for `Expect`.
            again.headers.remove(HTTPFieldName.expect)
            let sent = context.attempts
            do {
                response = try await next.send(again, context: &context)
            } catch let error as NetworkError
                where error.mayLackCredential && context.attempts == sent
            {
                // The new token expired before its use; the response of the upstream is more informative.
                guard let drained else { throw error }
                response.body = drained.isEmpty ? .empty : .bytes(drained)
                context.withdrawAttempt()
                return try leave(response, as: .refreshFailed, &context)
            }
        }
        return response
    }

    /// Whether there is no body to keep for a replay, so that the chain can send the request first.
    func begin(_ request: borrowing Request) -> Bool {
        if refusals.searchesContent, request.headers.contains(HTTPFieldName.acceptEncoding) {
            return false
        }
        guard replays, case .stream = request.body else { return true }
        return false
    }

    /// Whether the credential was not refused.
    func accepts(_ response: borrowing Response, _ context: borrowing RequestContext) -> Bool {
        !(refusals.mayApply(to: response)
            || RPCStatus.isRefusal(response, over: context.version))
            || context.authorization == nil
    }

    /// Reads the part of the content that helps to evaluate a response.
    ///
    /// For a 401, this is the part that has already arrived, since an API may describe the error there. For
    /// another status, it is the part that the rule requires.
    private func readAhead(_ response: inout Response) async -> ByteSlice? {
        let reach: PeekedBody.Reach
        if response.status == 401 {
            let type = response.headers[.contentType]?.lowercased() ?? ""
            guard type.contains("json") else { return nil }
            reach = .arrived
        } else {
            guard let needed = refusals.reach(into: response) else { return nil }
            reach = needed
        }
        let limit = RefusalRule.searchLimit
        let content = await PeekedBody.peek(into: &response.body, upTo: limit, reach)
        return content.flatMap {
            ContentInflation.beginning(of: $0, response.headers, upTo: limit)
        }
    }

    /// Records that a success was no refusal, which only its content has shown.
    private func noteAcceptance(of response: Response, _ context: RequestContext) {
        guard response.status.kind == .successful, let credential = context.sentCredential,
            !credential.isProven, credential.prove()
        else { return }
        authorizer.accepted(credential)
    }

    /// Sends the request for the first time.
    ///
    /// Adds `Expect` to an upload that is not kept for a replay (because it is too long or repeatable) if the
    /// credential may be refused, so that a 401 does not consume the body.
    private func first(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        let isRecording = ReplayBuffer.recording(request.body)?.isRecording ?? false
        guard replays, case .stream = request.body, !isRecording,
            !request.headers.contains(HTTPFieldName.expect), mayBeRefused(request)
        else { return try await next.send(request, context: &context) }
        var asking = request
        asking.headers.append(.expect, validated: "100-continue")
        let response = try await next.send(asking, context: &context)
        // An origin that responds with 417 requires the request without `Expect` (RFC 9110 §10.1.1).
        guard response.status == 417, let plain = request.again() else { return response }
        _ = await drain(response.body, context)
        context.beginNextAttempt(because: .status(417))
        return try await next.send(plain, context: &context)
    }

    /// Whether the token of the next attempt has not been used yet, or the nonce of its proof may have
    /// expired.
    private func mayBeRefused(_ request: Request) -> Bool {
        guard let credential = authorizer.currentCredential() else { return true }
        if let proof = credential.proof, proof.mayBeRefused(by: request.origin) { return true }
        return credential.generation != nil && !credential.isProven
    }

    /// Returns the decision on a refusal, based on the authorizer's verdict.
    private func decide(
        on response: Response,
        _ content: ByteSlice?,
        to request: Request,
        _ context: inout RequestContext
    ) async -> ReplayDecision {
        let intent: Rejection.Intent =
            if isReplayOver(context) {
                .afterReplay
            } else if !replays {
                .report(.replayOff)
            } else if request.body.canBeSentAgain {
                .replay
            } else {
                .report(.bodyNotReplayable)
            }
        let rejection = Rejection(
            generation: context.authorization?.generation,
            headers: response.headers,
            content: content,
            intent: intent,
            deadline: context.deadline
        )
        let start = authorizer.clock.now
        let verdict: Verdict
        do {
            verdict = try await CredentialWait.run(for: authorizer) {
                await authorizer.rejected(rejection)
            }
        } catch {
            // The renewal would wait for this request.
            verdict = .passThrough(.refreshFailed)
        }
        // A cached verdict takes some microseconds, a renewal more than a millisecond.
        if authorizer.clock.now - start >= .milliseconds(1) {
            context.authorization?.addWait(since: start, on: authorizer.clock)
        }
        return ReplayDecision(verdict, to: intent, after: context.retriesOfAccount)
    }

    /// Whether the server refused a token requested after a refusal, or a second replay.
    private func isReplayOver(_ context: borrowing RequestContext) -> Bool {
        switch context.retriesOfAccount.count(where: { $0 == .unauthorized }) {
        case 0: false
        case 1: context.sentCredential?.mayPredateRefusal != true
        default: true
        }
    }

    /// Returns the refusal to the caller and records the reason.
    private func leave(
        _ response: Response,
        as reason: NotReplayed,
        _ context: inout RequestContext
    ) throws -> Response {
        context.authorization?.notReplayed = reason
        guard !Task.isCancelled else {
            // The caller is no longer waiting for the response.
            response.body.cancel()
            throw NetworkError.cancelled
        }
        return response
    }

    /// Reads a body to its end, at most 64 KiB within one second, so that its connection can be reused.
    ///
    /// - Returns: the content; `nil` if the body was canceled because it is too long, too slow or failed.
    private func drain(_ body: HTTPBody, _ context: RequestContext) async -> ByteSlice? {
        let limit = 64 * 1024
        if let length = body.length, length > limit {
            body.cancel()
            return nil
        }
        let soon = authorizer.clock.now + .seconds(1)
        do {
            return try await body.collect(
                upTo: limit,
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
    /// Whether the error may mean that there was no credential, if no attempt was made.
    fileprivate var mayLackCredential: Bool {
        switch kind {
        case .credentialUnavailable, .reauthorizationRequired, .httpResponseTimeout: true
        default: false
        }
    }
}
