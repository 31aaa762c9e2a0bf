import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

@Suite struct TokenRequestTests {
    private func ask(
        _ answer: Response,
        grant: TokenGrant = .clientCredentials(scopes: ["a", "b c"]),
        configure: (inout OAuthConfiguration) -> Void = { _ in }
    ) async -> (request: Request?, body: String, result: Result<TokenResponse, TokenFailure>) {
        var configuration = OAuthHarness.configuration(.clientCredentials)
        configure(&configuration)
        let transport = RecordingTransport(answer)
        let client = TokenEndpointClient(transport: transport)
        do {
            let response = try await client.tokens(
                for: grant,
                configuration: configuration,
                deadline: .now + .seconds(10)
            )
            return (transport.request, transport.body, .success(response))
        } catch {
            return (transport.request, transport.body, .failure(error))
        }
    }

    private func reply(_ status: HTTPStatus, _ body: String) -> Response {
        Response(status: status, body: .bytes(ByteSlice(body)))
    }

    private let good = #"{"access_token":"t","token_type":"Bearer","expires_in":60}"#

    @Test func `a request is a form in UTF-8 that accepts JSON`() async {
        let (request, body, _) = await ask(reply(200, good)) {
            $0.audience = "https://api/ü"
            $0.resources = ["urn:a", "urn:b"]
            $0.parameters = [FormParameter("tenant", "x&y"), FormParameter("empty", "")]
        }
        #expect(request?.method == .post)
        #expect(request?.target == "/token")
        #expect(request?.headers[.accept] == "application/json")
        #expect(request?.headers[.contentType] == "application/x-www-form-urlencoded")
        #expect(
            body == "grant_type=client_credentials&scope=a+b+c&audience=https%3A%2F%2Fapi%2F%C3%BC"
                + "&resource=urn%3Aa&resource=urn%3Ab&tenant=x%26y"
        )
    }

    @Test(arguments: [
        // RFC 6749 appendix B: a space is a plus sign.
        (OAuthConfiguration.ClientAuthentication.basic, ["Basic YSUzQWI6cyslM0Q="], ""),
        (.post, [], "&client_id=a%3Ab&client_secret=s+%3D"),
        (.none, [], "&client_id=a%3Ab"),
    ])
    func `the client says who it is in exactly one way`(
        method: OAuthConfiguration.ClientAuthentication,
        header: [String],
        form: String
    ) async {
        let (request, body, _) = await ask(reply(200, good), grant: .refreshToken(Secret("r"))) {
            $0.clientID = "a:b"
            $0.clientSecret = Secret("s =")
            $0.clientAuthentication = method
        }
        #expect(request?.headers.values(of: .authorization) == header)
        #expect(body == "grant_type=refresh_token&refresh_token=r" + form)
    }

    @Test func `raw Basic does not encode the secret`() async {
        let (request, _, _) = await ask(reply(200, good)) {
            $0.clientID = "id"
            $0.clientSecret = Secret("s =")
            $0.clientAuthentication = .basicRaw
        }
        #expect(request?.headers[.authorization] == "Basic aWQ6cyA9")
    }

    @Test func `no secret goes to an endpoint without TLS`() async {
        let (request, _, result) = await ask(reply(200, good)) {
            $0.tokenEndpoint.origin = Origin(scheme: .http, host: "login.example.com")
        }
        #expect(request == nil)
        #expect(throws: TokenFailure.self) { try result.get() }
    }

    @Test(arguments: [
        (200, "", TokenFailure.Class.lost), (200, "<html>", .lost), (200, "{}", .lost),
        (200, #"{"access_token":"t","token_type":"mac"}"#, .configuration),
        (200, #"{"access_token":"a b","token_type":"bearer"}"#, .configuration),
        (
            200, #"{"access_token":"t","token_type":"bearer","error":"invalid_scope"}"#,
            .configuration
        ),
        (307, "", .configuration), (404, "", .configuration), (408, "", .transient),
        (425, "", .transient), (429, "", .transient), (500, "", .transient), (503, "{", .transient),
        (400, #"{"error":"temporarily_unavailable"}"#, .transient),
        (400, #"{"error":"server_error"}"#, .transient),
        (400, #"{"error":"unheard_of"}"#, .configuration),
        (400, #"{"error":"invalid_grant"}"#, .invalidGrant),
    ])
    func `a response is judged by its error and its status`(
        status: Int,
        body: String,
        kind: TokenFailure.Class
    ) async throws {
        let (_, _, result) = await ask(reply(try #require(HTTPStatus(rawValue: status)), body))
        guard case .failure(let failure) = result else {
            Issue.record("expected a failure")
            return
        }
        #expect(failure.kind == kind)
    }

    @Test func `token_type is compared without regard to case`() async throws {
        let body = #"{"access_token":"t","token_type":"BEARER"}"#
        let (_, _, result) = await ask(reply(200, body))
        #expect(try result.get().accessToken == Secret("t"))
    }

    @Test(arguments: ["", #","token_type":null"#])
    func `a missing token_type means Bearer`(member: String) async throws {
        let (_, _, result) = await ask(reply(200, #"{"access_token":"t"\#(member)}"#))
        #expect(try result.get().scheme == "Bearer")
    }

    @Test func `a response above 1 MiB is not read`() async {
        let body = #"{"access_token":"\#(String(repeating: "x", count: 1 << 20))"}"#
        let (_, _, result) = await ask(reply(200, body))
        #expect(throws: TokenFailure.self) { try result.get() }
    }

    @Test func `the server's message is cleaned and shortened`() async {
        let long = String(repeating: "word ", count: 1000)
        let body =
            #"{"error":"invalid_client","error_description":"bad\r\nthing \u001b[31m \#(long)"}"#
        let (_, _, result) = await ask(reply(400, body))
        guard case .failure(let failure) = result else { return }
        #expect(failure.detail.utf8.allSatisfy { $0 >= 0x20 })
        #expect(failure.detail.contains("bad  thing"))
        #expect((2000...2200).contains(failure.detail.count))
    }

    @Test(arguments: [(39, false), (40, true)])
    func `a word as long as a token is removed from the server's message`(
        length: Int,
        isHidden: Bool
    ) async {
        let word = String(repeating: "x", count: length)
        let body = #"{"error":"invalid_client","error_description":"bad \#(word)"}"#
        let (_, _, result) = await ask(reply(400, body))
        guard case .failure(let failure) = result else { return }
        #expect(failure.detail.contains("bad <redacted>") == isHidden)
        #expect(failure.detail.contains("bad \(word)") == !isHidden)
    }

    @Test func `a refresh token in an unusable response is not lost`() async throws {
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")))
        harness.server.script(
            .respond(
                200,
                #"{"access_token":"t","token_type":"mac","refresh_token":"fresh"}"#,
                [:]
            )
        )
        _ = await harness.failure()
        #expect(try await harness.store.load()?.refreshToken == Secret("fresh"))
    }
}

/// Responds once, and records the request.
private final class RecordingTransport: HTTPTransport {
    private let answer: Response
    private let seen = Mutex<(Request?, String)>((nil, ""))

    init(_ answer: Response) { self.answer = answer }

    var request: Request? { seen.withLock { $0.0 } }
    var body: String { seen.withLock { $0.1 } }

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        let body = try await request.body.collect(upTo: 1 << 16)
        seen.withLock { $0 = (request, String(decoding: body.array, as: UTF8.self)) }
        return answer
    }
}
