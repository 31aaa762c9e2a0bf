import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

/// Tests of uploads above the replay limit with unproven tokens.
@Suite struct Expectations {
    private func upload(_ source: PieceSource, length: Int? = 9) -> Request {
        Request(
            method: .post,
            origin: OAuthHarness.apiOrigin,
            target: "/",
            body: .stream(source, length: length)
        )
    }

    private func chain(_ harness: OAuthHarness, _ origin: AskingOrigin) -> RequestChain {
        RequestChain(
            [
                ReauthorizationInterceptor(authorizer: harness.manager, replayLimit: 4),
                AuthorizationInterceptor(
                    authorizer: harness.manager,
                    origins: [OAuthHarness.apiOrigin]
                ),
            ],
            transport: origin
        )
    }

    @Test
    func `a long upload with an unproven token expects 100, so a 401 costs no body`()
        async throws
    {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.revokeAccess()
        let origin = AskingOrigin(harness.server)
        let source = PieceSource(["one", "two", "six"])
        var context = RequestContext()
        let response = try await chain(harness, origin)
            .send(upload(source), context: &context)
        #expect(response.status == 200)
        #expect(origin.seen == ["asked: 401", "onetwosix: 200"])
        #expect(!source.isCancelled)
        #expect(context.retries == [.unauthorized])
    }

    @Test func `a proven token is sent together with the body`() async throws {
        let harness = OAuthHarness()
        let origin = AskingOrigin(harness.server)
        let chain = chain(harness, origin)
        for expected in ["asked, onetwosix: 200", "onetwosix: 200"] {
            var context = RequestContext()
            let source = PieceSource(["one", "two", "six"])
            let response = try await chain.send(upload(source), context: &context)
            #expect(response.status == 200)
            #expect(origin.seen.last == expected)
        }
    }

    @Test func `an upload within the replay limit does not expect 100`() async throws {
        let harness = OAuthHarness()
        let origin = AskingOrigin(harness.server)
        var context = RequestContext()
        _ = try await chain(harness, origin)
            .send(upload(PieceSource(["one"]), length: 3), context: &context)
        #expect(origin.seen == ["one: 200"])
    }

    @Test func `an origin that refuses Expect gets the body without it`() async throws {
        let harness = OAuthHarness()
        let origin = AskingOrigin(harness.server, knowsExpect: false)
        var context = RequestContext()
        let response = try await chain(harness, origin)
            .send(upload(PieceSource(["one", "two", "six"])), context: &context)
        #expect(response.status == 200)
        #expect(origin.seen == ["asked: 417", "onetwosix: 200"])
        #expect(context.retries == [.status(417)])
        #expect(context.earlierAttempts.map(\.reason) == [.status(417)])
    }

    @Test func `the source of a refused upload is canceled`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.revokeAccess()
        harness.server.script(.unreachable)
        let source = PieceSource(["one", "two", "six"])
        var context = RequestContext()
        let response = try await chain(harness, AskingOrigin(harness.server))
            .send(upload(source), context: &context)
        #expect(response.status == 401)
        #expect(source.isCancelled)
    }
}

/// Responds to a request with Expect before it reads the body.
private final class AskingOrigin: HTTPTransport {
    private let server: AuthorizationServerModel
    private let knowsExpect: Bool
    private let answers = Mutex<[String]>([])

    init(_ server: AuthorizationServerModel, knowsExpect: Bool = true) {
        self.server = server
        self.knowsExpect = knowsExpect
    }

    var seen: [String] { answers.withLock { $0 } }

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        let token = request.headers[.authorization]?.dropFirst(7) ?? ""
        let isGood = server.accepts(String(token))
        let asks = request.headers[.expect] != nil
        if asks, !knowsExpect { return refuse(417, request) }
        if asks, !isGood { return refuse(401, request) }
        let body = try await request.body.collect(upTo: 1 << 20)
        let text = (asks ? "asked, " : "") + String(decoding: body.array, as: UTF8.self)
        answers.withLock { $0.append("\(text): \(isGood ? 200 : 401)") }
        return Response(status: isGood ? 200 : 401)
    }

    private func refuse(_ status: HTTPStatus, _ request: Request) -> Response {
        answers.withLock { $0.append("asked: \(status)") }
        request.body.cancel()
        return Response(status: status)
    }
}
