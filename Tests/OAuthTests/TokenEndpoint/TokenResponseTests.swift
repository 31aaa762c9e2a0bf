import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

@Suite struct TokenResponses {
    @Test(arguments: [
        ("client", "secret", "client:secret"),
        ("a client", "p+ss:w/rd", "a+client:p%2Bss%3Aw%2Frd"),
        ("ä@x", "100%", "%C3%A4%40x:100%25"),
    ])
    func `basic encodes both parts as a form does`(
        _ id: String,
        _ secret: String,
        _ pair: String
    ) async throws {
        let endpoint = TokenEndpoint {
            $0.clientID = id
            $0.clientSecret = Secret(secret)
        }
        _ = try await endpoint.tokens(#"{"access_token":"t"}"#)
        let value = try #require(endpoint.transport.last?.headers[.authorization])
        #expect(value.hasPrefix("Basic "))
        let decoded = try #require(Base64.decode(String(value.dropFirst(6))))
        #expect(String(decoding: decoded, as: UTF8.self) == pair)
    }

    @Test func `tokens are requested without a content coding`() async throws {
        let endpoint = TokenEndpoint()
        _ = try await endpoint.tokens(#"{"access_token":"t"}"#)
        #expect(endpoint.transport.last?.headers[.acceptEncoding] == "identity")
    }

    @Test func `an endpoint can be written as a literal`() async throws {
        let endpoint: OAuthConfiguration.TokenEndpoint = "https://login.example:444/token?a=1"
        #expect(endpoint.origin == Origin(scheme: .https, host: "login.example", port: 444))
        #expect(endpoint.target == "/token?a=1")
        #expect("\(endpoint)" == "https://login.example:444/token?a=1")
    }

    @Test(arguments: [
        "login.example/token", "ftp://login.example", "https://u:c4nary@login.example/t", "",
    ])
    func `nothing is sent to a literal that is not a URL`(_ text: String) async throws {
        let client = TokenEndpoint {
            $0.tokenEndpoint = OAuthConfiguration.TokenEndpoint(stringLiteral: text)
            $0.allowsInsecure = true
        }
        let failure = await client.failure(200, #"{"access_token":"t"}"#)
        #expect(failure?.kind == .configuration)
        #expect(failure?.detail.contains("c4nary") == false)
        #expect(client.transport.last == nil)
    }

    @Test func `every member of a token response is read`() async throws {
        let answer = try await TokenEndpoint().tokens(
            """
            {"access_token":"t","token_type":"Bearer","expires_in":60,"refresh_token":"r",\
            "scope":"read","more":[1]}
            """
        )
        #expect(answer.accessToken == Secret("t"))
        #expect(answer.lifetime == .seconds(60))
        #expect(answer.refreshToken == Secret("r"))
        #expect(answer.scope == "read")
    }

    @Test(arguments: ["error", "error_description", "token_type", "scope", "refresh_token"])
    func `an empty member counts as absent, as in forms`(_ name: String) async throws {
        let answer = try await TokenEndpoint().tokens(#"{"access_token":"t","\#(name)":""}"#)
        #expect(answer.accessToken == Secret("t"))
        #expect(answer.scope == nil)
        #expect(answer.refreshToken == nil)
    }

    @Test(arguments: ["1e3", #""1000""#, "1000.0"])
    func `a lifetime may be written as a number or a string`(_ text: String) async throws {
        let answer = try await TokenEndpoint().tokens(
            #"{"access_token":"t","expires_in":\#(text)}"#
        )
        #expect(answer.lifetime == .seconds(1000))
    }

    @Test(arguments: [
        #""expires_in":[60]"#, #""expires_in":true"#, #""scope":7"#, #""refresh_token":[]"#,
        #""refresh_in":{}"#,
    ])
    func `an optional member of an unusual kind does not cost the token`(
        _ member: String
    ) async throws {
        let answer = try await TokenEndpoint().tokens(#"{"access_token":"t",\#(member)}"#)
        #expect(answer.accessToken == Secret("t"))
        #expect(answer.lifetime == nil)
    }

    @Test func `a scope sent as a list is joined`() async throws {
        let body = #"{"access_token":"t","scope":["read","write"]}"#
        #expect(try await TokenEndpoint().tokens(body).scope == "read write")
    }

    @Test func `an empty refresh token counts as absent`() async throws {
        let body = #"{"access_token":"t","refresh_token":""}"#
        #expect(try await TokenEndpoint().tokens(body).refreshToken == nil)
    }

    @Test(arguments: ["DPoP", "mac", "N_A", "Bearer "])
    func `a token of another type is refused`(_ type: String) async {
        let body = #"{"access_token":"t","token_type":"\#(type)"}"#
        #expect(await TokenEndpoint().failure(200, body)?.kind == .configuration)
    }

    @Test(arguments: [#"a\r\nX-Evil: 1"#, #"a\u0000"#, #"a\u007f"#, "a b", "ä"])
    func `a token with bytes not allowed in a field is refused`(_ token: String) async {
        let failure = await TokenEndpoint().failure(200, #"{"access_token":"\#(token)"}"#)
        #expect(failure?.kind == .configuration)
        #expect(failure?.detail.contains("Evil") == false)
    }
}

@Suite struct TokenRefusals {
    @Test(arguments: [301, 302, 303, 307, 308] as [HTTPStatus])
    func `a redirect is refused and not followed`(_ status: HTTPStatus) async {
        let endpoint = TokenEndpoint()
        let headers: HTTPHeaders = [.location: "https://elsewhere.example/token"]
        let failure = await endpoint.failure(status, "", headers)
        #expect(failure?.kind == .configuration)
        #expect(endpoint.transport.count == 1)
    }

    @Test(arguments: [400, 401, 500] as [HTTPStatus])
    func `invalid_grant counts whatever the status`(_ status: HTTPStatus) async {
        let body = #"{"error":"invalid_grant","error_description":"revoked"}"#
        let failure = await TokenEndpoint().failure(status, body)
        #expect(failure?.kind == .invalidGrant)
        #expect(failure?.serverError == "invalid_grant")
        #expect(failure?.serverDescription == "revoked")
    }

    @Test(arguments: [
        "invalid_grant", #"{"error":"Invalid_Grant"}"#, #"{"error":"invalid_grant "}"#,
        #"{"error":"invalid_request","error_description":"invalid_grant"}"#,
        #"{"code":"invalid_grant"}"#, #"{"error":{"code":"invalid_grant"}}"#,
        #""invalid_grant""#,
    ])
    func `no other mention of invalid_grant is one`(_ body: String) async {
        #expect(await TokenEndpoint().failure(400, body)?.kind == .configuration)
    }

    @Test(arguments: ["interaction_required", "consent_required", "bad_refresh_token"])
    func `other error codes for a required sign-in mean the same`(
        _ word: String
    ) async {
        #expect(await TokenEndpoint().failure(400, #"{"error":"\#(word)"}"#)?.kind == .invalidGrant)
    }

    @Test(
        arguments: [
            (502, "<html>"), (504, ""), (503, #"{"error":"invalid_client"}"#),
            (429, #"{"error":"too_many"}"#), (400, #"{"error":"slow_down"}"#),
        ] as [(HTTPStatus, String)]
    )
    func `a server that is in trouble is asked again later`(
        _ status: HTTPStatus,
        _ body: String
    ) async {
        #expect(await TokenEndpoint().failure(status, body)?.kind == .transient)
    }

    @Test(
        arguments: [
            ("30", .seconds(30)), ("-5", nil), ("Fri, 15 Jan 2027 08:00:30 GMT", .seconds(30)),
            ("later", nil),
        ] as [(String, Duration?)]
    )
    func `the wait that the server names is kept`(_ text: String, _ wait: Duration?) async throws {
        var headers: HTTPHeaders = [:]
        headers.append(try #require(HTTPField(.retryAfter, text)))
        #expect(await TokenEndpoint().failure(503, "", headers)?.retryAfter == wait)
    }

    @Test(arguments: [
        (NetworkError.RetrySafety.safe, false), (.idempotentOnly, true), (.unsafe, true),
    ])
    func `a fault leaves the outcome unknown unless nothing was sent`(
        _ safety: NetworkError.RetrySafety,
        _ isOpen: Bool
    ) async {
        let endpoint = TokenEndpoint()
        endpoint.transport.fail(
            NetworkError(.connectionTerminated, side: .upstream, retry: safety, detail: "gone")
        )
        let failure = await endpoint.failure()
        #expect(failure?.kind == (isOpen ? .lost : .transient))
        #expect(failure?.mayBeSpent == isOpen)
    }

    @Test func `a request that found no connection was not sent`() async {
        let endpoint = TokenEndpoint()
        endpoint.transport.fail(
            NetworkError(.connectionLimitReached, side: .proxy, retry: .unsafe, detail: "all busy")
        )
        let failure = await endpoint.failure()
        #expect(failure?.kind == .transient)
        #expect(failure?.mayBeSpent == false)
    }

    @Test func `the server's message does not repeat the grant presented`() async {
        let body =
            #"{"error":"invalid_client","error_description":"no\r\ns3cret-canary for refresh-0"}"#
        let failure = await TokenEndpoint().failure(401, body)
        #expect(failure?.serverDescription == "no  <redacted> for <redacted>")
    }
}

/// Servers that answer with a form, as was usual before the standard said JSON.
@Suite struct TokenForms {
    private let form: HTTPHeaders = [.contentType: "application/x-www-form-urlencoded"]

    @Test(arguments: [
        "application/x-www-form-urlencoded",
        "Application/X-WWW-Form-URLEncoded ; charset=utf-8",
    ])
    func `a form is read where the media type says that it is one`(_ type: String) async throws {
        let answer = try await TokenEndpoint().tokens(
            "access_token=t%2B1&token_type=bearer&expires_in=60&refresh_token=R2"
                + "&refresh_in=30&refresh_token_expires_in=90&scope=read+write&more=",
            try HTTPHeaders(validating: [.contentType: type])
        )
        #expect(answer.accessToken == Secret("t+1"))
        #expect(answer.lifetime == .seconds(60))
        #expect(answer.refreshIn == .seconds(30))
        #expect(answer.refreshLifetime == .seconds(90))
        #expect(answer.refreshToken == Secret("R2"))
        #expect(answer.scope == "read write")
    }

    @Test func `a member without a value counts as absent`() async throws {
        let answer = try await TokenEndpoint().tokens(
            "error=&access_token=t&token_type=&refresh_token=&expires_in=",
            form
        )
        #expect(answer.accessToken == Secret("t"))
        #expect(answer.refreshToken == nil)
        #expect(answer.lifetime == nil)
    }

    @Test(arguments: [
        nil, "application/json", "text/plain", "application/x-www-form-urlencoded-too",
    ])
    func `a form without the media type of one counts as lost`(_ type: String?) async throws {
        var headers: HTTPHeaders = [:]
        if let type { headers.append(try #require(HTTPField(.contentType, type))) }
        #expect(await TokenEndpoint().failure(200, "access_token=t", headers)?.kind == .lost)
    }

    @Test(arguments: [
        "access_token=t&access_token=u", "access_token=t&refresh_token=r&refresh_token=",
        "access_token=t&x=1&%78=2", "access_token=t&scope=%zz", "access_token=t%", "access_token",
        "access_token=%FF", "", "&", "{access_token=t",
    ])
    func `a form that can be read in two ways, or in none, is lost`(_ body: String) async {
        #expect(await TokenEndpoint().failure(200, body, form)?.kind == .lost)
    }

    @Test(arguments: [("<html>Sign in</html>", true), ("{}", false)])
    func `an HTML page instead of a token suggests checking the URL`(body: String, isTold: Bool)
        async
    {
        let failure = await TokenEndpoint().failure(200, body)
        #expect(failure?.detail.hasSuffix("without a token; check token_url") == isTold)
    }

    @Test func `a refusal may be a form, too`() async {
        let body = "error=invalid_grant&error_description=it+is+refresh-0"
        let failure = await TokenEndpoint().failure(400, body, form)
        #expect(failure?.kind == .invalidGrant)
        #expect(failure?.serverDescription == "it is <redacted>")
        let twice = await TokenEndpoint().failure(400, body + "&error=invalid_client", form)
        #expect(twice?.kind == .configuration)
        #expect(twice?.serverError == nil)
    }

    @Test func `JSON is read as JSON whatever the media type`() async throws {
        #expect(
            try await TokenEndpoint().tokens(#"{"access_token":"t"}"#, form).accessToken
                == Secret("t")
        )
    }
}

/// A client of a token endpoint in memory.
private struct TokenEndpoint {
    let transport = Script()
    private let configuration: OAuthConfiguration

    init(adjust: (inout OAuthConfiguration) -> Void = { _ in }) {
        var configuration = OAuthHarness.configuration(.refreshToken(initial: nil))
        adjust(&configuration)
        self.configuration = configuration
    }

    func tokens(_ body: String, _ headers: HTTPHeaders = [:]) async throws -> TokenResponse {
        transport.answer(Response(status: 200, headers: headers, body: .bytes(ByteSlice(body))))
        return try await ask()
    }

    func failure(
        _ status: HTTPStatus,
        _ body: String,
        _ headers: HTTPHeaders = [:]
    ) async -> TokenFailure? {
        transport.answer(Response(status: status, headers: headers, body: .bytes(ByteSlice(body))))
        return await failure()
    }

    func failure() async -> TokenFailure? {
        do {
            _ = try await ask()
            return nil
        } catch {
            return error
        }
    }

    private func ask() async throws(TokenFailure) -> TokenResponse {
        try await TokenEndpointClient(transport: transport, clock: ManualClock()).tokens(
            for: .refreshToken(Secret("refresh-0")),
            configuration: configuration,
            deadline: .now + .seconds(10)
        )
    }
}

/// Answers with what it was told, and remembers what was asked.
private final class Script: HTTPTransport {
    private struct State {
        var answer: Result<Response, NetworkError>?
        var requests: [Request] = []
    }

    private let state = Mutex(State())

    var last: Request? { state.withLock { $0.requests.last } }
    var count: Int { state.withLock { $0.requests.count } }

    func answer(_ response: Response) { state.withLock { $0.answer = .success(response) } }
    func fail(_ error: NetworkError) { state.withLock { $0.answer = .failure(error) } }

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        try state.withLock { state in
            state.requests.append(request)
            return try (state.answer ?? .success(Response(status: 500))).get()
        }
    }
}
