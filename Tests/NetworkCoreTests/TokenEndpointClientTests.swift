import NetworkCore
import TestSupport
import Testing

@Suite struct ClientAuthentications {
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
        let asked = try await asking(.basic, id: id, secret: secret)
        #expect(asked.basicPair == pair)
        #expect(asked.form("client_id") == nil)
        #expect(asked.form("client_secret") == nil)
    }

    @Test func `basicRaw sends both parts as they are`() async throws {
        let asked = try await asking(.basicRaw, id: "a client", secret: "p+ss:w/rd%")
        #expect(asked.basicPair == "a client:p+ss:w/rd%")
        #expect(asked.form("client_secret") == nil)
    }

    @Test func `post puts both parts into the body`() async throws {
        let asked = try await asking(.post, id: "a&client", secret: "p+ss=w rd")
        #expect(asked.request.headers[.authorization] == nil)
        #expect(asked.form("client_id") == "a&client")
        #expect(asked.form("client_secret") == "p+ss=w rd")
    }

    @Test func `a public client sends its id only`() async throws {
        let asked = try await asking(.none, id: "client", secret: nil)
        #expect(asked.request.headers[.authorization] == nil)
        #expect(asked.form("client_id") == "client")
        #expect(!asked.body.contains("client_secret"))
    }

    private func asking(
        _ authentication: OAuthConfiguration.ClientAuthentication,
        id: String,
        secret: String?
    ) async throws -> AuthorizationServerModel.Asked {
        let endpoint = TokenEndpoint { configuration in
            configuration.clientID = id
            configuration.clientSecret = secret.map(Secret.init)
            configuration.clientAuthentication = authentication
        }
        _ = try await endpoint.client.token()
        return try #require(endpoint.server.asked.first)
    }
}

@Suite struct TokenRequests {
    @Test func `a token request is a form that is posted to the endpoint`() async throws {
        let endpoint = TokenEndpoint()
        _ = try await endpoint.client.token()
        let asked = try #require(endpoint.server.asked.first)
        #expect(asked.request.method == .post)
        #expect(asked.request.target == "/token")
        #expect(asked.request.headers[.contentType] == "application/x-www-form-urlencoded")
        #expect(asked.request.headers[.accept] == "application/json")
        #expect(asked.form("grant_type") == "client_credentials")
    }

    @Test func `scope goes with client credentials and not with a refresh`() async throws {
        let endpoint = TokenEndpoint(grant: .refresh()) { $0.scopes = ["read", "write:all"] }
        _ = try await endpoint.client.token()
        _ = try await endpoint.client.token(refreshing: Secret("refresh-0"))
        #expect(endpoint.server.asked.map { $0.form("scope") } == ["read write:all", nil])
        #expect(endpoint.server.asked.map { $0.form("refresh_token") } == [nil, "refresh-0"])
    }

    @Test func `no scope is sent where none is configured`() async throws {
        let endpoint = TokenEndpoint()
        _ = try await endpoint.client.token()
        #expect(endpoint.server.asked.map { $0.form("scope") } == [nil])
    }

    @Test func `audience and parameters go with every request`() async throws {
        let endpoint = TokenEndpoint(grant: .refresh()) { configuration in
            configuration.audience = "https://api.example/?a=b"
            configuration.parameters = [("resource", "x & y"), ("tenant", "z")]
        }
        _ = try await endpoint.client.token()
        _ = try await endpoint.client.token(refreshing: Secret("refresh-0"))
        #expect(endpoint.server.asked.count == 2)
        for asked in endpoint.server.asked {
            #expect(asked.form("audience") == "https://api.example/?a=b")
            #expect(asked.form("resource") == "x & y")
            #expect(asked.form("tenant") == "z")
        }
    }
}

@Suite struct TokenAnswers {
    @Test func `a granted answer is read whole`() async throws {
        let body = """
            {"access_token":"t","token_type":"Bearer","expires_in":60,"refresh_token":"r",\
            "scope":"read","more":[1]}
            """
        let answer = try await TokenEndpoint().answer(.json(body))
        #expect(answer.accessToken == Secret("t"))
        #expect(answer.expiresIn == 60)
        #expect(answer.refreshToken == Secret("r"))
        #expect(answer.scope == "read")
    }

    @Test(
        arguments: [
            ("3600", 3600.0), ("3599.5", 3599.5), (#""3600""#, 3600), ("1e3", 1000), ("null", nil),
            (#""soon""#, nil), (#""""#, nil), (#""inf""#, nil), ("[60]", nil), ("{}", nil),
            ("true", nil),
        ] as [(String, Double?)]
    )
    func `a lifetime is read in every shape that servers send`(
        _ text: String,
        _ seconds: Double?
    ) async throws {
        let body = #"{"access_token":"t","token_type":"Bearer","expires_in":\#(text)}"#
        #expect(try await TokenEndpoint().answer(.json(body)).expiresIn == seconds)
    }

    @Test func `a lifetime that is left out is unknown`() async throws {
        let answer = try await TokenEndpoint().answer(.json(#"{"access_token":"t"}"#))
        #expect(answer.expiresIn == nil)
    }

    @Test func `an empty refresh token counts as none`() async throws {
        let body = #"{"access_token":"t","refresh_token":""}"#
        #expect(try await TokenEndpoint().answer(.json(body)).refreshToken == nil)
    }

    @Test(arguments: ["Bearer", "bearer", "BEARER"])
    func `the type Bearer is accepted in any case`(_ type: String) async throws {
        let body = #"{"access_token":"t","token_type":"\#(type)"}"#
        #expect(try await TokenEndpoint().answer(.json(body)).accessToken == Secret("t"))
    }

    @Test(arguments: ["DPoP", "mac", "N_A", "", "Bearer "])
    func `a token of another type is refused`(_ type: String) async {
        let body = #"{"access_token":"t","token_type":"\#(type)"}"#
        #expect(await TokenEndpoint().failure(.json(body))?.severity == .configuration)
    }

    @Test(arguments: [#"a\r\nX-Evil: 1"#, #"a\u0000"#, #"a\u007f"#, "a b", "ä"])
    func `a token with bytes that no field may have is refused`(_ token: String) async {
        let body = #"{"access_token":"\#(token)"}"#
        let failure = await TokenEndpoint().failure(.json(body))
        #expect(failure?.severity == .configuration)
        #expect(failure?.description.contains("Evil") == false)
    }
}

@Suite struct TokenRefusals {
    @Test(arguments: [200, 201] as [HTTPStatus])
    func `a success that carries an error is an error`(_ status: HTTPStatus) async {
        let body = #"{"access_token":"t","error":"invalid_client"}"#
        let failure = await TokenEndpoint().failure(.json(body, status: status))
        #expect(failure?.severity == .configuration)
        #expect(failure?.description == "invalid_client")
    }

    @Test(arguments: ["", "<html></html>", "[]", "{}", #"{"access_token":""}"#, "{\"access_to"])
    func `a success without a token may pass and may have been acted on`(_ body: String) async {
        let failure = await TokenEndpoint().failure(.json(body))
        #expect(failure?.severity == .transient)
        #expect(failure?.isAmbiguous == true)
    }

    @Test(arguments: [301, 302, 303, 307, 308] as [HTTPStatus])
    func `a redirect is refused and not followed`(_ status: HTTPStatus) async {
        let endpoint = TokenEndpoint()
        let headers: HTTPHeaders = [.location: "https://elsewhere.example/token"]
        let failure = await endpoint.failure(.reply(status, "", headers))
        #expect(failure?.severity == .configuration)
        #expect(endpoint.server.asked.count == 1)
    }

    @Test(arguments: [400, 401, 500] as [HTTPStatus])
    func `invalid_grant ends a refresh family`(_ status: HTTPStatus) async {
        let body = #"{"error":"invalid_grant","error_description":"revoked"}"#
        let failure = await TokenEndpoint(grant: .refresh()).failure(.json(body, status: status))
        #expect(failure?.severity == .dead)
        #expect(failure?.description == "invalid_grant: revoked")
    }

    @Test func `invalid_grant on client credentials is a matter of configuration`() async {
        let body = #"{"error":"invalid_grant"}"#
        let failure = await TokenEndpoint().failure(.json(body, status: 400))
        #expect(failure?.severity == .configuration)
    }

    @Test(arguments: [
        "invalid_grant", #"{"error":"Invalid_Grant"}"#, #"{"error":"invalid_grant "}"#,
        #"{"error":"invalid_request","error_description":"invalid_grant"}"#,
        #"{"code":"invalid_grant"}"#, #"{"error":{"code":"invalid_grant"}}"#,
        #""invalid_grant""#,
    ])
    func `no other mention of invalid_grant ends a family`(_ body: String) async {
        let failure = await TokenEndpoint(grant: .refresh()).failure(.json(body, status: 400))
        #expect(failure?.severity == .configuration)
    }

    @Test(
        arguments: [
            (500, ""), (502, "<html>"), (503, ""), (504, ""), (429, ""), (408, ""),
            (503, #"{"error":"invalid_client"}"#), (429, #"{"error":"too_many"}"#),
            (400, #"{"error":"temporarily_unavailable"}"#), (400, #"{"error":"slow_down"}"#),
        ] as [(HTTPStatus, String)]
    )
    func `a server that is in trouble is asked again later`(
        _ status: HTTPStatus,
        _ body: String
    ) async {
        let failure = await TokenEndpoint(grant: .refresh()).failure(.json(body, status: status))
        #expect(failure?.severity == .transient)
    }

    @Test(arguments: [400, 401, 403, 404] as [HTTPStatus])
    func `a refusal without words is a matter of configuration`(_ status: HTTPStatus) async {
        let failure = await TokenEndpoint(grant: .refresh()).failure(.json("", status: status))
        #expect(failure?.severity == .configuration)
    }

    @Test(
        arguments: [
            ("30", 30), ("-5", 0), ("Tue, 14 Nov 2023 22:13:50 GMT", 30), ("later", nil),
        ] as [(String, Int?)]
    )
    func `the wait that the server names is kept`(_ text: String, _ seconds: Int?) async throws {
        var headers: HTTPHeaders = [:]
        headers.append(try #require(HTTPField(.retryAfter, text)))
        let failure = await TokenEndpoint().failure(.reply(503, "", headers))
        #expect(failure?.severity == .transient)
        #expect(failure?.retryAfter == seconds)
    }

    @Test(arguments: [
        (NetworkError.RetrySafety.safe, false), (.idempotentOnly, true), (.unsafe, true),
    ])
    func `a fault is ambiguous unless nothing was sent`(
        _ safety: NetworkError.RetrySafety,
        _ isAmbiguous: Bool
    ) async {
        let fault = NetworkError(
            .connectionTerminated,
            side: .upstream,
            retry: safety,
            detail: "gone"
        )
        let failure = await TokenEndpoint().failure(.fault(fault))
        #expect(failure?.severity == .transient)
        #expect(failure?.isAmbiguous == isAmbiguous)
    }

    @Test func `the server's words are shown in one line and without the secret`() async {
        let body = #"{"error":"invalid_client","error_description":"no\r\nclient-secret here"}"#
        let failure = await TokenEndpoint().failure(.json(body, status: 401))
        #expect(failure?.description == "invalid_client: no  <secret> here")
    }

    @Test func `the server's words are cut short`() async {
        let words = String(repeating: "x", count: 5000)
        let failure = await TokenEndpoint().failure(.json(#"{"error":"\#(words)"}"#, status: 400))
        #expect(failure?.description.count == 200)
    }
}

/// A client of a token endpoint in memory.
private struct TokenEndpoint {
    let server = AuthorizationServerModel(refreshToken: "refresh-0")
    let client: TokenEndpointClient
    private let isRefresh: Bool

    init(
        grant: OAuthConfiguration.Grant = .clientCredentials,
        adjust: (inout OAuthConfiguration) -> Void = { _ in }
    ) {
        var configuration = OAuthConfiguration.forTests(grant: grant)
        adjust(&configuration)
        if case .refreshToken = grant { isRefresh = true } else { isRefresh = false }
        client = TokenEndpointClient(configuration, transport: server, clock: ManualClock())
    }

    /// What the client makes of an answer.
    func answer(_ answer: AuthorizationServerModel.Answer) async throws -> TokenResponse {
        server.script(answer)
        return isRefresh
            ? try await client.token(refreshing: Secret("refresh-0")) : try await client.token()
    }

    /// Why the client takes an answer for a failure.
    func failure(_ answer: AuthorizationServerModel.Answer) async -> TokenEndpointError? {
        do {
            _ = try await self.answer(answer)
            return nil
        } catch {
            return error as? TokenEndpointError
        }
    }
}

extension AuthorizationServerModel.Asked {
    /// What stands behind `Basic`, decoded.
    fileprivate var basicPair: String? {
        guard let value = request.headers[.authorization], value.hasPrefix("Basic ") else {
            return nil
        }
        return Base64.decode(String(value.dropFirst(6))).map { String(decoding: $0, as: UTF8.self) }
    }
}
