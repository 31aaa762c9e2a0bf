import NetproxyBytes
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
    func `nothing is sent to a literal without a URL`(_ text: String) async throws {
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

    @Test(arguments: ["DPoP", "mac", "MAC", "pop", "N_A"])
    func `a token that needs more than its own text is refused by the name of its type`(
        _ type: String
    ) async {
        let body = #"{"access_token":"t","token_type":"\#(type)"}"#
        let failure = await TokenEndpoint().failure(200, body)
        #expect(failure?.kind == .configuration)
        #expect(failure?.detail.contains("token_type is \(type), not Bearer") == true)
    }

    @Test(arguments: [
        ("BearerToken", "BearerToken"), ("jwt-bearer", "jwt-bearer"), ("bot", "bot"),
        ("JWT", "JWT"),
        ("Application Access Token", "Application Access Token"), ("Bearer ", "Bearer "),
        ("bearer", nil), ("BEARER", nil), ("", nil),
    ])
    func `a token of any other type is a bearer token`(_ type: String, _ told: String?) async throws
    {
        let body = #"{"access_token":"t","token_type":"\#(type)"}"#
        let answer = try await TokenEndpoint().tokens(body)
        #expect(answer.scheme == "Bearer")
        #expect(answer.unusualType == told)
    }

    @Test(arguments: ["7", "[\"Bearer\"]", "{}", "true"])
    func `a token is accepted although its type is not a text`(_ type: String) async throws {
        let answer = try await TokenEndpoint().tokens(
            #"{"access_token":"t","token_type":\#(type)}"#
        )
        #expect(answer.scheme == "Bearer")
    }

    @Test(arguments: [
        #"{"ok":true,"authed_user":{"access_token":"t","token_type":"user","refresh_token":"r"}}"#,
        #"{"message":"success","data":{"access_token":"t","refresh_token":"r"}}"#,
    ])
    func `tokens are found where a provider puts them`(_ body: String) async throws {
        let answer = try await TokenEndpoint().tokens(body)
        #expect(answer.accessToken == Secret("t"))
        #expect(answer.refreshToken == Secret("r"))
    }

    @Test func `the ID token is the credential if the configuration says so`() async throws {
        let endpoint = TokenEndpoint { $0.use = .idToken }
        // {"exp":1300,"iat":100}
        let token = "e30.eyJleHAiOjEzMDAsImlhdCI6MTAwfQ.c2ln"
        let answer = try await endpoint.tokens(
            #"{"access_token":"t","expires_in":60,"id_token":"\#(token)","refresh_token":"r"}"#
        )
        #expect(answer.accessToken == Secret(token))
        #expect(answer.lifetime == .seconds(1200))
        #expect(answer.refreshToken == Secret("r"))
        let opaque = try await endpoint.tokens(#"{"id_token":"eyJ.id.token","expires_in":"90"}"#)
        #expect(opaque.lifetime == .seconds(90))
    }

    @Test func `the error for the other token names the setting`() async {
        let without = await TokenEndpoint { $0.use = .idToken }.failure(
            200,
            #"{"access_token":"t"}"#
        )
        #expect(without?.detail.contains("add openid to scopes") == true)
        let only = await TokenEndpoint().failure(200, #"{"id_token":"eyJ.id.token"}"#)
        #expect(only?.kind == .configuration)
        #expect(only?.detail.contains("set use: id_token") == true)
    }

    @Test func `token requests carry the configured fields`() async throws {
        let endpoint = TokenEndpoint {
            $0.requestFields = [
                HTTPField(validated: .userAgent, "my-app/1"), HTTPField(validated: .accept, "*/*"),
            ]
        }
        _ = try await endpoint.tokens(#"{"access_token":"t"}"#)
        #expect(endpoint.transport.last?.headers[.userAgent] == "my-app/1")
        #expect(endpoint.transport.last?.headers.values(of: .accept) == ["*/*"])
    }

    @Test(arguments: [#"a\r\nX-Evil: 1"#, #"a\u0000"#, #"a\u007f"#, "a b", "ä"])
    func `a token with bytes not allowed in a field is refused`(_ token: String) async {
        let failure = await TokenEndpoint().failure(200, #"{"access_token":"\#(token)"}"#)
        #expect(failure?.kind == .configuration)
        #expect(failure?.detail.contains("Evil") == false)
    }
}

@Suite struct TokenRefusals {
    @Test(arguments: [400, 401, 500] as [HTTPStatus])
    func `invalid_grant counts at any status`(_ status: HTTPStatus) async {
        let body = #"{"error":"invalid_grant","error_description":"revoked"}"#
        let failure = await TokenEndpoint().failure(status, body)
        #expect(failure?.kind == .invalidGrant)
        #expect(failure?.serverError == "invalid_grant")
        #expect(failure?.serverDescription == "revoked")
    }

    @Test(arguments: [
        "invalid_grant", #"{"error":"invalid_request","error_description":"invalid_grant"}"#,
        #"{"error":"invalid_client","error_description":"Refresh token is invalid"}"#,
        #"{"error":"invalid_scope","message":"token revoked"}"#, #""invalid_grant""#,
    ])
    func `a code that the standard knows counts more than any message`(_ body: String) async {
        #expect(await TokenEndpoint().failure(400, body)?.kind == .configuration)
    }

    /// Dead refresh tokens, in providers' own words.
    @Test(
        arguments: [
            (400, #"{"status":"BAD_REFRESH_TOKEN","message":"missing or invalid refresh token"}"#),
            (
                401,
                #"{"errors":[{"errorType":"invalid_grant","message":"Refresh token invalid: x"}],"success":false}"#
            ),
            (
                400,
                #"{"message":"Bad Request","errors":[{"resource":"RefreshToken","field":"refresh_token","code":"invalid"}]}"#
            ),
            (200, #"{"ok":false,"error":"invalid_refresh_token"}"#),
            (200, #"{"ok":false,"error":"token_revoked"}"#),
            (400, #"{"error":"invalid_request","error_description":"Refresh token is invalid"}"#),
            (400, #"{"reason":"Invalid Token!","error":"invalid_request"}"#),
            (
                400,
                #"{"error":"invalid_token","error_description":"The refresh token is expired."}"#
            ),
            (400, #"{"error":"Invalid_Grant"}"#), (400, #"{"code":"invalid_grant"}"#),
            (400, #"{"error":{"code":"invalid_grant"}}"#),
            (401, #"{"ErrorCode":"invalid_request","Error":"Invalid Refresh Token"}"#),
            (200, #"{"errcode":40030,"errmsg":"invalid refresh_token"}"#),
            (
                200,
                #"{"data":{"error_code":10010,"description":"refresh_token has expired"},"message":"error"}"#
            ),
            (400, #"{"fault":{"faultstring":"Refresh Token expired","detail":{"errorcode":"x"}}}"#),
            (403, #"{"message":"The user revoked access to the application"}"#),
        ] as [(HTTPStatus, String)]
    )
    func `a dead refresh token is recognized`(_ status: HTTPStatus, _ body: String) async {
        #expect(await TokenEndpoint().failure(status, body)?.kind == .invalidGrant)
    }

    @Test(
        arguments: [
            (
                400,
                #"{"message":"Bad Request","errors":[{"resource":"Application","field":"client_id","code":"invalid"}]}"#,
                .configuration
            ),
            (400, #"{"message":"missing refresh_token parameter"}"#, .configuration),
            (400, #"{"message":"invalid grant_type refresh_token"}"#, .configuration),
            (401, #"{"message":"the access token has expired"}"#, .configuration),
            (200, #"{"ok":false,"error":"ratelimited"}"#, .transient),
            (200, #"{"ok":false,"error":"invalid_client_id"}"#, .configuration),
            (200, #"{"success":false}"#, .configuration),
            (503, #"{"message":"refresh token expired"}"#, .transient),
            (429, #"{"status":"BAD_REFRESH_TOKEN"}"#, .transient),
            (403, #"{"message":"Forbidden"}"#, .configuration), (200, #"{"scope":"a"}"#, .lost),
            (200, "{}", .lost),
        ] as [(HTTPStatus, String, TokenFailure.Class)]
    )
    func `other refusals cost no sign-in`(
        _ status: HTTPStatus,
        _ body: String,
        _ kind: TokenFailure.Class
    ) async {
        #expect(await TokenEndpoint().failure(status, body)?.kind == kind)
    }

    @Test(
        arguments: [
            (404, "<html>"), (403, #"{"message":"Forbidden"}"#), (302, ""), (404, ""),
        ] as [(HTTPStatus, String)]
    )
    func `only an OAuth error needs an operator`(_ status: HTTPStatus, _ body: String) async {
        let fault = await TokenEndpoint().failure(status, body)
        #expect(fault?.needsOperator == (status == 302))
        let error = await TokenEndpoint().failure(401, #"{"error":"invalid_client"}"#)
        #expect(error?.needsOperator == true)
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
            (400, #"{"error":"internal_error"}"#),
        ] as [(HTTPStatus, String)]
    )
    func `a server in trouble gets another request later`(
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

    @Test func `the provider's words are shown whole, up to 2 KiB`() async throws {
        let long = String(repeating: "word ", count: 400)
        let body =
            #"{"error":"invalid_grant","suberror":"token_expired","error_description":"\#(long)"}"#
        let failure = try #require(await TokenEndpoint().failure(400, body))
        #expect(failure.detail.contains("(invalid_grant, token_expired: word word"))
        #expect(failure.serverDescription == long)
        let longer = #"{"message":"\#(String(repeating: "é ", count: 3000))"}"#
        let cut = try #require(await TokenEndpoint().failure(400, longer)?.serverDescription)
        #expect((2000...2052).contains(cut.utf8.count))
        #expect(cut.hasSuffix("…"))
    }

    @Test(arguments: [
        (
            #"{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"no such app"}}"#,
            "no such app"
        ),
        (#"{"reason":"wrong account","error":"invalid_request"}"#, "wrong account"),
        (#"{"errors":["first","second"]}"#, "first; second"),
        (
            #"{"message":"see https://docs.example.com/identity/protocols/oauth2/errors/refresh"}"#,
            "https://docs.example.com/identity/protocols/oauth2/errors/refresh"
        ),
    ])
    func `the provider's own words are shown`(_ body: String, _ words: String) async {
        #expect(await TokenEndpoint().failure(400, body)?.detail.contains(words) == true)
    }

    @Test func `a sentence in plain text is shown and decides nothing`() async {
        let type: HTTPHeaders = [.contentType: "text/plain; charset=utf-8"]
        let failure = await TokenEndpoint().failure(400, "refresh token expired", type)
        #expect(failure?.kind == .configuration)
        #expect(failure?.detail.contains("(refresh token expired)") == true)
    }

    @Test func `token-like text is not shown in the provider's own words either`() async {
        let token = String(repeating: "aB3", count: 20)
        let body = #"{"message":"bad refresh-0 or \#(token) or https://a.example/\#(token)/x"}"#
        let words = await TokenEndpoint().failure(400, body)?.serverDescription
        #expect(words == "bad <redacted> or <redacted> or https://a.example/<redacted>/x")
    }

    @Test func `the server's message does not repeat the grant presented`() async {
        let body =
            #"{"error":"invalid_client","error_description":"no\r\ns3cret-canary for refresh-0"}"#
        let failure = await TokenEndpoint().failure(401, body)
        #expect(failure?.serverDescription == "no  <redacted> for <redacted>")
    }
}

/// Servers that respond with a form, as was usual before the standard required JSON.
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

    @Test func `JSON is read as JSON with any media type`() async throws {
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

/// Sends the scripted response, and records the request.
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
