import NetworkCore
import Synchronization
import TestSupport
import Testing

/// Tests of APIs that refuse a token with a status other than 401.
@Suite struct RefusalRules {
    private let tokens = CountedTokens()

    private func chain(_ rule: RefusalRule, _ upstream: Upstream) -> RequestChain {
        RequestChain(
            [
                ReauthorizationInterceptor(authorizer: tokens, refusals: rule),
                AuthorizationInterceptor(
                    authorizer: tokens,
                    origins: [Origin(scheme: .https, host: "api.example")],
                    refusals: rule
                ),
            ],
            transport: upstream
        )
    }

    /// Returns an upstream that refuses the first token with this response.
    private func upstream(
        _ status: HTTPStatus,
        _ content: String,
        streamed: Bool = false
    ) -> Upstream {
        Upstream { arrived, _ in
            if arrived.token == "Bearer 2" { return Response(status: 200) }
            let body: HTTPBody =
                streamed
                ? .stream(PiecedBody(content.map(String.init)), length: nil)
                : .bytes(ByteSlice(content))
            return Response(status: status, body: body)
        }
    }

    @Test(
        arguments: [(403, nil), (400, "token_expired"), (419, "expired")] as [(HTTPStatus, String?)]
    )
    func `a response that matches the rule is a refusal`(
        status: HTTPStatus,
        phrase: String?
    ) async throws {
        let upstream = upstream(status, #"{"error":"token_expired"}"#, streamed: status == 400)
        let rule = RefusalRule(statuses: [status], phrase: phrase)
        let (response, context) = try await chain(rule, upstream).exchange(.forTests())
        #expect(response.status == 200)
        #expect(context.retries == [.unauthorized])
    }

    @Test(arguments: [false, true])
    func `a response with other content is returned byte for byte`(streamed: Bool) async throws {
        let upstream = upstream(403, "you may not read this", streamed: streamed)
        let rule = RefusalRule(statuses: [403], phrase: "token_expired")
        let (response, context) = try await chain(rule, upstream).exchange(.forTests())
        #expect(response.status == 403)
        let content = try await response.body.collect(upTo: 999)
        #expect(String(decoding: content.array, as: UTF8.self) == "you may not read this")
        #expect(context.retries.isEmpty)
        #expect(context.authorization?.notReplayed == nil)
        #expect(tokens.generation == 1)
    }

    @Test func `a 401 is a refusal with any content`() async throws {
        let rule = RefusalRule(statuses: [401, 403], phrase: "token_expired")
        let (response, _) = try await chain(rule, upstream(401, "no")).exchange(.forTests())
        #expect(response.status == 200)
    }

    @Test func `a 403 without a rule is not a refusal`() async throws {
        let (response, _) = try await chain(RefusalRule(), upstream(403, "token_expired"))
            .exchange(.forTests())
        #expect(response.status == 403)
        #expect(tokens.generation == 1)
        #expect(tokens.accepted == 1)
    }

    @Test func `a possible refusal does not prove the token`() async throws {
        let rule = RefusalRule(statuses: [403], phrase: "token_expired")
        _ = try await chain(rule, upstream(403, "no")).exchange(.forTests())
        #expect(tokens.accepted == 0)
    }

    @Test func `content beyond the limit is not searched, and arrives complete`() async throws {
        let long = String(repeating: "x", count: 70_000) + "token_expired"
        let rule = RefusalRule(statuses: [403], phrase: "token_expired")
        let upstream = Upstream { _, _ in
            let pieces = PiecedBody(["first ", long])
            return Response(status: 403, body: .stream(pieces, length: nil))
        }
        let (response, _) = try await chain(rule, upstream).exchange(.forTests())
        let content = try await response.body.collect(upTo: 1 << 20)
        #expect(String(decoding: content.array, as: UTF8.self) == "first " + long)
    }

    // MARK: - Successes

    private static let expired = #"{"errors":[{"message":"token_expired"}]}"#

    /// Sends a request to an upstream whose first response is a success with this body and these fields.
    private func success(
        _ body: @autoclosure @escaping @Sendable () -> HTTPBody,
        _ headers: HTTPHeaders = [.contentType: "application/json"],
        to request: Request = .forTests()
    ) async throws -> (response: Response, context: RequestContext, upstream: Upstream) {
        let upstream = Upstream { arrived, _ in
            if arrived.token == "Bearer 2" { return Response(status: 200) }
            return Response(status: 200, headers: headers, body: body())
        }
        let rule = RefusalRule(statuses: [200], phrase: "token_expired")
        let (response, context) = try await chain(rule, upstream).exchange(request)
        return (response, context, upstream)
    }

    @Test(arguments: [nil, "application/graphql-response+json; charset=utf-8", "text/xml"])
    func `a success that says that the token has expired is a refusal`(
        type: String?
    ) async throws {
        let headers: HTTPHeaders = type.map { [.contentType: $0] } ?? [:]
        for body in [
            HTTPBody.bytes(ByteSlice(Self.expired)),
            .stream(PiecedBody(["{", Self.expired]), length: Self.expired.utf8.count + 1),
            // Of unknown length: the first piece decides.
            .stream(PiecedBody([Self.expired, " "]), length: nil),
        ] {
            let upstream = Upstream { arrived, count in
                guard count == 0 else { return Response(status: 200) }
                return Response(status: 200, headers: headers, body: body)
            }
            let chain = chain(RefusalRule(statuses: [200], phrase: "token_expired"), upstream)
            let (_, context) = try await chain.exchange(.forTests())
            #expect(context.retries == [.unauthorized])
        }
    }

    @Test(arguments: ["gzip", "deflate"]) func `compressed content is searched`(
        coding: String
    ) async throws {
        let content = Array(Self.expired.utf8)
        let coded = coding == "gzip" ? StoredCoding.gzip(content) : StoredCoding.deflate(content)
        let (_, context, _) = try await success(
            .bytes(ByteSlice(coded)),
            [.contentType: "application/json", .contentEncoding: coding]
        )
        #expect(context.retries == [.unauthorized])
    }

    @Test func `the API uses a coding that can be searched`() async throws {
        var request = Request.forTests()
        request.headers.append(.acceptEncoding, validated: "br, zstd;q=0.9, gzip;q=0.5, deflate")
        let (_, _, upstream) = try await success(.empty, to: request)
        #expect(
            upstream.arrived[0].request.headers[.acceptEncoding] == "gzip;q=0.5, deflate"
        )
        request.headers = [.acceptEncoding: "br"]
        let other = try await success(.empty, to: request).upstream
        #expect(other.arrived[0].request.headers[.acceptEncoding] == "identity")
    }

    @Test(
        arguments: [
            ("text/event-stream", nil), ("application/x-ndjson", nil), ("image/png", nil),
            ("multipart/mixed", nil), ("application/grpc", nil),
            ("application/json", 64 * 1024 + 1),
        ] as [(String, Int?)]
    )
    func `a success that cannot be an error message is passed on unread`(
        type: String,
        length: Int?
    ) async throws {
        let body = PiecedBody(["token_expired"])
        let (response, context, _) = try await success(
            .stream(body, length: length),
            [.contentType: type]
        )
        guard case .stream(let source, _) = response.body else {
            Issue.record("the body is not a stream")
            return
        }
        #expect(source === body)
        #expect(context.retries.isEmpty)
        #expect(tokens.accepted == 1)
    }

    @Test func `a success in a coding that cannot be decoded is passed on unread`() async throws {
        let body = PiecedBody(["token_expired"])
        let headers: HTTPHeaders = [.contentType: "application/json", .contentEncoding: "br"]
        let (response, _, _) = try await success(.stream(body, length: 13), headers)
        guard case .stream(let source, _) = response.body else {
            Issue.record("the body is not a stream")
            return
        }
        #expect(source === body)
    }

    @Test func `a stream is passed on after its first piece`() async throws {
        let (response, _, _) = try await success(.stream(StalledBody("{"), length: nil))
        guard case .stream(let source, _) = response.body else {
            Issue.record("the body is not a stream")
            return
        }
        #expect(try await source.next() == ByteSlice("{"))
    }

    @Test func `a success without the phrase proves the token`() async throws {
        let (response, context, _) = try await success(.bytes(ByteSlice(#"{"data":1}"#)))
        #expect(try await response.body.collect(upTo: 99) == ByteSlice(#"{"data":1}"#))
        #expect(context.retries.isEmpty)
        #expect(tokens.accepted == 1)
    }

    /// An API that names its errors in a field, or else in the content.
    private struct NamedErrors: RefusalReading {
        func isRefusal(_ headers: HTTPHeaders) -> Bool? {
            headers["X-Error"].map { $0 == "expired" }
        }

        func isRefusal(_ headers: HTTPHeaders, _ content: ByteSlice) -> Bool {
            content == ByteSlice("expired")
        }
    }

    @Test(arguments: [
        ("expired", "you may not", 200), (nil, "expired", 200), (nil, "you may not", 403),
        ("other", "expired", 403), ("other", "or this phrase", 200),
    ])
    func `an API may define its own refusals`(
        field: String?,
        content: String,
        status: Int
    ) async throws {
        let upstream = Upstream { arrived, _ in
            if arrived.token == "Bearer 2" { return Response(status: 200) }
            var response = Response(status: 403, body: .bytes(ByteSlice(content)))
            if let field { response.headers.append("X-Error", validated: field) }
            return response
        }
        let rule = RefusalRule(
            statuses: [403],
            phrase: "phrase",
            further: FurtherRefusals([403], by: NamedErrors())
        )
        let (response, _) = try await chain(rule, upstream).exchange(.forTests())
        #expect(response.status.rawValue == status)
    }

    @Test func `content is not read if the fields decide`() async throws {
        let upstream = Upstream { _, _ in
            var response = Response(status: 403)
            response.headers.append("X-Error", validated: "other")
            let pieces = PiecedBody(["not ", "read ", "ahead"])
            response.body = .stream(pieces, length: nil)
            return response
        }
        let rule = RefusalRule(further: FurtherRefusals([403], by: NamedErrors()))
        let (response, _) = try await chain(rule, upstream).exchange(.forTests())
        guard case .stream(let source, _) = response.body else {
            Issue.record("the body is not a stream")
            return
        }
        #expect(source is PiecedBody)
        #expect(tokens.accepted == 0)
    }

    @Test func `rules are equal if they judge the same responses in the same way`() {
        let rules = [403, 400].map { (status: HTTPStatus) in
            RefusalRule(further: FurtherRefusals([status], by: NamedErrors()))
        }
        #expect(rules[0] == RefusalRule(further: FurtherRefusals([403], by: NamedErrors())))
        #expect(Set(rules + [RefusalRule()]).count == 3)
    }

    @Test func `the content of a 401 is passed to the authorizer`()
        async throws
    {
        let upstream = Upstream { arrived, _ in
            if arrived.token == "Bearer 2" { return Response(status: 200) }
            return Response(
                status: 401,
                headers: [.contentType: "application/json"],
                body: .bytes(ByteSlice(#"{"error":"insufficient_scope"}"#))
            )
        }
        _ = try await chain(RefusalRule(), upstream).exchange(.forTests())
        #expect(tokens.contents == [#"{"error":"insufficient_scope"}"#])
    }
}

/// Issues `Bearer 1`, and the next number after each rejection.
private final class CountedTokens: Authorizing {
    private struct State {
        var credential = Credential(.authorization, Secret("Bearer 1"), generation: 1)
        var generation = 1
        var accepted = 0
        var contents: [String] = []
    }

    let kind = "stub"
    let fieldName = HTTPFieldName.authorization
    private let state = Mutex(State())

    var generation: Int { state.withLock { $0.generation } }
    var accepted: Int { state.withLock { $0.accepted } }
    var contents: [String] { state.withLock { $0.contents } }

    func currentCredential() -> Credential? { state.withLock { $0.credential } }

    func credential(until deadline: ContinuousClock.Instant?) async throws -> Credential {
        guard let current = currentCredential() else { throw CancellationError() }
        return current
    }

    func accepted(_ credential: Credential) { state.withLock { $0.accepted += 1 } }

    func rejected(_ rejection: Rejection) async -> Verdict {
        state.withLock { state in
            if let content = rejection.content {
                state.contents.append(String(decoding: content.array, as: UTF8.self))
            }
            state.generation += 1
            state.credential = Credential(
                .authorization,
                Secret("Bearer \(state.generation)"),
                generation: state.generation
            )
        }
        return .replay
    }
}
