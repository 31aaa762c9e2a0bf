import NetworkCore
import Synchronization
import TestSupport
import Testing

/// Tests of the outcome of a 401 for every combination of verdict, body and earlier retries.
@Suite struct RefusedAttempts {
    /// The verdict of the authorizer, and the credential of the next attempt.
    enum Words: CaseIterable {
        case replay, replayOnce, proveAgain, proveAgainOwn, passThrough

        var sent: String {
            switch self {
            case .replay, .proveAgain, .passThrough: "Bearer 1"
            case .replayOnce, .proveAgainOwn: "Bearer own"
            }
        }
    }

    enum Outcome: Sendable {
        case again(RetryReason)
        case left(NotReplayed)
    }

    enum Body: CaseIterable {
        case none, kept, spent
    }

    /// The earlier retries of an exchange, and the outcomes of verdicts with another token, with another
    /// proof, and with neither.
    struct Row: Sendable {
        let earlier: [RetryReason]
        let token: Outcome
        let proof: Outcome
        let neither: Outcome
    }

    private static let rows = [
        Row([], .again(.unauthorized), .again(.proof), .left(.excess)),
        Row([.status(503)], .again(.unauthorized), .again(.proof), .left(.excess)),
        Row([.unauthorized], .left(.alreadyReplayed), .again(.proof), .left(.alreadyReplayed)),
        Row([.proof], .again(.unauthorized), .left(.proofRefused), .left(.excess)),
        Row(
            [.proof, .unauthorized],
            .left(.alreadyReplayed),
            .left(.proofRefused),
            .left(.alreadyReplayed)
        ),
    ]

    // A retry limit applies only to other causes.
    @Test(arguments: Body.allCases, [nil, 0])
    func `token and proof are each renewed once if the body can be sent again`(
        body: Body,
        retryLimit: Int?
    ) async throws {
        for row in RefusedAttempts.rows {
            for words in Words.allCases {
                let expected = row.outcome(of: words, body)
                let what: Comment = "\(words) behind \(row.earlier)"
                let authorizer = try ScriptedAuthorizer([words])
                let upstream = RefusingUpstream(times: 1)
                var context = RequestContext()
                context.retryLimit = retryLimit
                context.retries = row.earlier
                let limit = body == .spent ? 0 : 100
                let chain = RequestChain.authorized(by: authorizer, upstream, replayLimit: limit)
                let response = try await chain.send(.refused(body), context: &context)
                #expect(authorizer.intents == [row.intent(body)], what)
                switch expected {
                case .again(let cause):
                    #expect(response.status == 200, what)
                    #expect(context.retries == row.earlier + [cause], what)
                    #expect(context.authorization?.notReplayed == nil, what)
                    let isRefreshed = cause == .unauthorized
                    #expect(context.authorization?.isRefreshed == isRefreshed, what)
                    #expect(upstream.tokens == ["Bearer 1", words.sent], what)
                case .left(let reason):
                    #expect(response.status == 401, what)
                    #expect(context.retries == row.earlier, what)
                    #expect(context.authorization?.notReplayed == reason, what)
                    #expect(context.authorization?.isRefreshed == false, what)
                    #expect(upstream.tokens == ["Bearer 1"], what)
                }
            }
        }
    }

    @Test(
        arguments: [
            ([.replay, .replay, .replay], [.unauthorized, .unauthorized], .alreadyReplayed),
            ([.replay, .passThrough], [.unauthorized], .excess),
            (
                [.replay, .proveAgain, .replay, .replay],
                [.unauthorized, .proof, .unauthorized],
                .alreadyReplayed
            ),
            ([.replay, .replayOnce, .replay], [.unauthorized, .unauthorized], .alreadyReplayed),
            ([.replayOnce, .replay], [.unauthorized], .alreadyReplayed),
        ] as [([Words], [RetryReason], NotReplayed)]
    )
    func `a token that may predate the first 401 is renewed once more`(
        script: [Words],
        retries: [RetryReason],
        reason: NotReplayed
    ) async throws {
        let authorizer = try ScriptedAuthorizer(script, mayPredateRefusal: true)
        let upstream = RefusingUpstream(times: .max)
        var context = RequestContext()
        _ = try await RequestChain.authorized(by: authorizer, upstream)
            .send(.refused(.kept), context: &context)
        #expect(context.retries == retries)
        #expect(context.authorization?.notReplayed == reason)
        #expect(upstream.tokens == ["Bearer 1"] + script.dropLast().map(\.sent))
        #expect(authorizer.intents.count == script.count)
        #expect(authorizer.intents.last == (reason == .excess ? .replay : .afterReplay))
    }

    @Test(
        arguments: [
            ([.replay, .replay], [.unauthorized], .alreadyReplayed),
            ([.replay, .passThrough], [.unauthorized], .alreadyReplayed),
            ([.proveAgain, .proveAgain], [.proof], .proofRefused),
            ([.proveAgain, .passThrough], [.proof], .excess),
            ([.replay, .proveAgain, .proveAgain], [.unauthorized, .proof], .proofRefused),
            ([.replayOnce, .proveAgainOwn, .replay], [.unauthorized, .proof], .alreadyReplayed),
            ([.proveAgain, .replay, .replayOnce], [.proof, .unauthorized], .alreadyReplayed),
            ([.proveAgainOwn, .replayOnce, .proveAgain], [.proof, .unauthorized], .proofRefused),
            ([.proveAgain, .replay, .passThrough], [.proof, .unauthorized], .alreadyReplayed),
        ] as [([Words], [RetryReason], NotReplayed)]
    )
    func `each 401 in a row is judged, and the last one is returned`(
        script: [Words],
        retries: [RetryReason],
        reason: NotReplayed
    ) async throws {
        let authorizer = try ScriptedAuthorizer(script)
        let upstream = RefusingUpstream(times: .max)
        var context = RequestContext()
        let response = try await RequestChain.authorized(by: authorizer, upstream)
            .send(.refused(.kept), context: &context)
        #expect(response.headers["X-Number"] == "\(script.count)")
        #expect(context.retries == retries)
        #expect(context.authorization?.notReplayed == reason)
        #expect(context.authorization?.isRefreshed == retries.contains(.unauthorized))
        #expect(upstream.tokens == ["Bearer 1"] + script.dropLast().map(\.sent))
        let untilReplayed = 1 + (retries.firstIndex(of: .unauthorized) ?? script.count)
        let intents: [Rejection.Intent] = script.indices.map {
            $0 < untilReplayed ? .replay : .afterReplay
        }
        #expect(authorizer.intents == intents)
    }
}

extension RefusedAttempts.Row {
    init(
        _ earlier: [RetryReason],
        _ token: RefusedAttempts.Outcome,
        _ proof: RefusedAttempts.Outcome,
        _ neither: RefusedAttempts.Outcome
    ) {
        self.init(earlier: earlier, token: token, proof: proof, neither: neither)
    }

    func outcome(
        of words: RefusedAttempts.Words,
        _ body: RefusedAttempts.Body
    ) -> RefusedAttempts.Outcome {
        let outcome =
            switch words {
            case .replay, .replayOnce: token
            case .proveAgain, .proveAgainOwn: proof
            case .passThrough: neither
            }
        if case .again = outcome, body == .spent { return .left(.bodyNotReplayable) }
        return outcome
    }

    func intent(_ body: RefusedAttempts.Body) -> Rejection.Intent {
        if earlier.contains(.unauthorized) { return .afterReplay }
        return body == .spent ? .report(.bodyNotReplayable) : .replay
    }
}

extension Request {
    fileprivate static func refused(_ body: RefusedAttempts.Body) -> Request {
        guard body != .none else { return .forTests() }
        return .forTests(.post, body: .stream(PiecedBody(["one", "two"]), length: nil))
    }
}

/// Judges each 401 by the next verdict of a script.
private final class ScriptedAuthorizer: Authorizing {
    private struct State {
        var script: [RefusedAttempts.Words]
        var intents: [Rejection.Intent] = []
    }

    let kind = "stub"
    let fieldName = HTTPFieldName.authorization
    private let shared: Credential
    private let own: Credential
    private let state: Mutex<State>

    init(_ script: [RefusedAttempts.Words], mayPredateRefusal: Bool = false) throws {
        let token = Credential(
            accessToken: Secret("Bearer 1"),
            generation: 1,
            issuedAt: .now,
            isForOneUse: false,
            mayPredateRefusal: mayPredateRefusal,
            proof: nil
        )
        shared = try #require(token)
        own = try #require(Credential(.authorization, Secret("Bearer own"), generation: 2))
        state = Mutex(State(script: script))
    }

    var intents: [Rejection.Intent] { state.withLock { $0.intents } }

    func currentCredential() -> Credential? { shared }

    func credential(until deadline: ContinuousClock.Instant?) async throws -> Credential { shared }

    func rejected(_ rejection: Rejection) async -> Verdict {
        let words = state.withLock { state in
            state.intents.append(rejection.intent)
            return state.script.removeFirst()
        }
        return switch words {
        case .replay: .replay
        case .replayOnce: .replayOnce(own)
        case .proveAgain: .proveAgain(nil)
        case .proveAgainOwn: .proveAgain(own)
        case .passThrough: .passThrough(.excess)
        }
    }
}

/// Responds with 401 `times` times and then with 200; each response carries its number.
private final class RefusingUpstream: HTTPTransport {
    private let times: Int
    private let seen = Mutex<[String?]>([])

    init(times: Int) {
        self.times = times
    }

    var tokens: [String?] { seen.withLock { $0 } }

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        _ = try await request.body.collect(upTo: 100)
        let number = seen.withLock { seen in
            seen.append(request.headers[.authorization])
            return seen.count
        }
        let headers: HTTPHeaders = ["X-Number": "\(number)"]
        return Response(status: number <= times ? 401 : 200, headers: headers)
    }
}
