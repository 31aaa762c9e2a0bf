import NetproxySettings
import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

@Suite struct AuthorizationTests {
    private func send(
        _ headers: HTTPHeaders,
        _ policy: ClientCredentialPolicy,
        authorizer: StaticAuthorizer? = nil,
        origin: Origin = OAuthHarness.apiOrigin
    ) async throws -> (HTTPHeaders, RequestContext) {
        let authorizer = try authorizer ?? .bearer(Secret("ours"))
        let wire = Wire()
        let chain = RequestChain(
            [
                AuthorizationInterceptor(
                    authorizer: authorizer,
                    origins: [OAuthHarness.apiOrigin],
                    onClientCredential: policy
                )
            ],
            transport: wire
        )
        var context = RequestContext()
        _ = try await chain.send(
            Request(origin: origin, target: "/", headers: headers),
            context: &context
        )
        return (wire.headers, context)
    }

    @Test func `an attempt carries exactly one credential field`() async throws {
        let twice: HTTPHeaders = ["authorization": "Basic a", "Authorization": "Basic b"]
        let (headers, context) = try await send(twice, .replace)
        #expect(headers.values(of: .authorization) == ["Bearer ours"])
        #expect(context.authorization?.overrodeClient == true)
        #expect(context.authorization?.kind == "bearer")
    }

    @Test func `the keep policy keeps the credential of the client`() async throws {
        let (headers, context) = try await send([.authorization: "Basic a"], .keep)
        #expect(headers.values(of: .authorization) == ["Basic a"])
        #expect(context.authorization == nil)
    }

    @Test func `the reject policy refuses a request with its own credential`() async throws {
        let own: HTTPHeaders = ["Authorization": "Basic a"]
        let error = await #expect(throws: NetworkError.self) {
            try await send(own, .reject)
        }
        #expect(error?.kind == .httpRequestDenied)
        #expect(error?.ownStatus == 403)
    }

    @Test func `a credential is sent only to its own origins`() async throws {
        for origin in [
            Origin(scheme: .https, host: "evil.example.com"),
            Origin(scheme: .http, host: "api.example.com"),
            Origin(scheme: .https, host: "api.example.com", port: 8443),
        ] {
            let (headers, context) = try await send([:], .replace, origin: origin)
            #expect(headers[.authorization] == nil)
            #expect(context.authorization == nil)
        }
    }

    @Test func `an attempt without a credential clears the facts of an earlier one`() async throws {
        let authorizer = try StaticAuthorizer.bearer(Secret("ours"))
        let chain = RequestChain(
            [
                AuthorizationInterceptor(
                    authorizer: authorizer,
                    origins: [OAuthHarness.apiOrigin]
                )
            ],
            transport: Wire()
        )
        var context = RequestContext()
        for host in ["api.example.com", "evil.example.com"] {
            let origin = Origin(scheme: .https, host: host)
            _ = try await chain.send(Request(origin: origin, target: "/"), context: &context)
            #expect((context.authorization != nil) == (host == "api.example.com"))
        }
    }

    @Test(arguments: [(200, true), (404, true), (401, false), (502, false), (503, false)])
    func `only a response of the API itself proves a token`(
        status: Int,
        isProven: Bool
    ) async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        let interceptor = AuthorizationInterceptor(
            authorizer: harness.manager,
            origins: [OAuthHarness.apiOrigin]
        )
        let answer = try #require(HTTPStatus(rawValue: status))
        let transport = Upstream { _, _ in Response(status: answer) }
        var context = RequestContext()
        _ = try await RequestChain([interceptor], transport: transport)
            .send(Request(origin: OAuthHarness.apiOrigin, target: "/"), context: &context)
        #expect(harness.manager.currentCredential()?.isProven == isProven)
    }

    @Test func `an API key replaces the client's value in its field`() async throws {
        let (headers, context) = try await send(
            ["x-api-key": "theirs"],
            .replace,
            authorizer: try .header("X-Api-Key", Secret("ours"))
        )
        #expect(headers.values(of: "X-Api-Key") == ["ours"])
        #expect(context.authorization?.kind == "header")
    }

    @Test func `basic credentials are encoded`() async throws {
        let authorizer = try StaticAuthorizer.basic(
            username: "Aladdin",
            password: Secret("open sesame")
        )
        let (headers, _) = try await send([:], .replace, authorizer: authorizer)
        #expect(headers[.authorization] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        #expect(throws: NetworkError.self) {
            try StaticAuthorizer.basic(username: "a:b", password: Secret("c"))
        }
    }

    @Test func `a streamed body is replayed completely`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.revokeAccess()
        let source = PieceSource(["one ", "two ", "three"])
        let (response, _) = try await harness.send(.upload(source))
        #expect(response.status == 200)
        #expect(harness.api.seen.map(\.body) == ["one two three", "one two three"])
        #expect(!source.isCancelled)
    }

    @Test func `a body read in part before the 401 is replayed completely`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.revokeAccess()
        harness.api.refuseAfter(bodyBytes: 4)
        let source = PieceSource(["one ", "two ", "three"])
        let (response, _) = try await harness.send(.upload(source))
        #expect(response.status == 200)
        #expect(harness.api.seen.map(\.body) == ["one ", "one two three"])
    }

    @Test func `a body above the limit returns the 401, and the next request a new token`()
        async throws
    {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.revokeAccess()
        let (response, context) = try await harness.send(
            .upload(PieceSource(["one ", "two ", "three"])),
            replayLimit: 8
        )
        #expect(response.status == 401)
        #expect(context.authorization?.notReplayed?.rawValue == "body_not_replayable")
        #expect(harness.api.seen.map(\.body) == ["one two three"])
        let (next, _) = try await harness.send()
        #expect(next.status == 200)
        #expect(harness.requests == 2)
    }

    @Test func `the rest of an unwanted upload is canceled`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.revokeAccess()
        harness.server.script(.unreachable)
        harness.api.refuseAfter(bodyBytes: 4)
        let source = PieceSource(["one ", "two ", "three"])
        let (response, _) = try await harness.send(.upload(source))
        #expect(response.status == 401)
        #expect(source.isCancelled)
    }

    @Test func `an exchange has one replay, also if it is retried for other reasons`()
        async throws
    {
        let harness = OAuthHarness()
        harness.api.refuseEverything()
        let interceptor = ReauthorizationInterceptor(authorizer: harness.manager)
        let signing = AuthorizationInterceptor(
            authorizer: harness.manager,
            origins: [OAuthHarness.apiOrigin]
        )
        let chain = RequestChain([interceptor, signing], transport: harness.api)
        var context = RequestContext()
        let request = Request(origin: OAuthHarness.apiOrigin, target: "/")
        _ = try await chain.send(request, context: &context)
        _ = try await chain.send(request, context: &context)
        #expect(harness.api.seen.count == 3)
        #expect(context.retries == [.unauthorized])
    }

    @Test func `a 401 for an API key is returned to the client`() async throws {
        let authorizer = try StaticAuthorizer.header("X-Api-Key", Secret("k"))
        let chain = RequestChain(
            [
                ReauthorizationInterceptor(authorizer: authorizer),
                AuthorizationInterceptor(
                    authorizer: authorizer,
                    origins: [OAuthHarness.apiOrigin]
                ),
            ],
            transport: Upstream { _, _ in Response(status: 401) }
        )
        var context = RequestContext()
        let response = try await chain.send(
            Request(origin: OAuthHarness.apiOrigin, target: "/"),
            context: &context
        )
        #expect(response.status == 401)
        #expect(context.authorization?.notReplayed?.rawValue == "static_credential")
        #expect(context.retries.isEmpty)
    }
}

extension Request {
    static func upload(_ source: PieceSource) -> Request {
        Request(
            method: .post,
            origin: OAuthHarness.apiOrigin,
            target: "/",
            body: .stream(source, length: nil)
        )
    }
}

/// Records the header fields of the last attempt.
private final class Wire: HTTPTransport {
    private let last = Mutex<HTTPHeaders>([:])
    var headers: HTTPHeaders { last.withLock { $0 } }

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        last.withLock { $0 = request.headers }
        return Response(status: 200)
    }
}

/// A body in pieces that can be read once.
final class PieceSource: BodySource {
    private let state: Mutex<(pieces: [String], isCancelled: Bool)>
    let gate = Door()

    init(_ pieces: [String]) { state = Mutex((pieces, false)) }

    var isCancelled: Bool { state.withLock { $0.isCancelled } }
    var left: Int { state.withLock { $0.pieces.count } }

    func next() async throws -> ByteSlice? {
        await gate.pass()
        return state.withLock { $0.pieces.isEmpty ? nil : ByteSlice($0.pieces.removeFirst()) }
    }

    func cancel() { state.withLock { $0.isCancelled = true } }
}
