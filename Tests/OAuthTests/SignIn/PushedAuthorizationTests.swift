import NetworkCore
import OAuth
import TestSupport
import Testing

/// Sign-ins whose request is pushed to the server before a browser opens the page (RFC 9126).
@Suite struct PushedAuthorizationTests {
    private let transport = ScriptedServer()
    private let refused = #"{"error":"invalid_request","error_description":"no such redirect"}"#

    private func page(
        configure: (inout OAuthConfiguration) -> Void = { _ in },
        _ change: (inout ServerMetadata) -> Void = { _ in }
    ) async throws -> String {
        var server = ServerMetadata(issuer: "https://login.example.com")
        server.authorizationEndpoint = ServerEndpoint("https://login.example.com/authorize")
        server.pushedEndpoint = ServerEndpoint("https://login.example.com/par")
        server.requiresPushedRequests = true
        change(&server)
        var configuration = OAuthHarness.configuration(.refreshToken(initial: nil))
        configuration.parameters = [FormParameter("tenant", "x")]
        configuration.authorizationParameters = [FormParameter("prompt", "consent")]
        configure(&configuration)
        return try await AuthorizationCodeFlow(
            server: server,
            configuration: configuration,
            redirect: "http://127.0.0.1:5001/callback"
        ).page(over: transport, clock: ManualClock())
    }

    @Test func `the page has nothing but the client and the reference`() async throws {
        transport.script("/par", .json(201, #"{"request_uri":"urn:x:1","expires_in":60}"#))
        let page = try await page()
        #expect(
            page == "https://login.example.com/authorize?client_id=client&request_uri=urn%3Ax%3A1"
        )
        let pushed = try #require(transport.seen.first)
        #expect(pushed.form["response_type"] == "code")
        #expect(pushed.form["code_challenge_method"] == "S256")
        #expect(pushed.form["prompt"] == "consent")
        #expect(pushed.form["tenant"] == nil)
        #expect(pushed.headers[.authorization]?.hasPrefix("Basic ") == true)
    }

    @Test(arguments: [OAuthConfiguration.ClientAuthentication.none, .post])
    func `the client's id is sent once`(
        authentication: OAuthConfiguration.ClientAuthentication
    ) async throws {
        transport.script("/par", .json(201, #"{"request_uri":"urn:x:1"}"#))
        _ = try await page { $0.clientAuthentication = authentication }
        #expect(transport.seen.first?.form["client_id"] == "client")
    }

    @Test func `a refusal is reported if pushing is required`() async throws {
        transport.script("/par", .json(400, refused))
        await #expect(
            throws: SignInError(
                "the server refused the request for a sign-in: invalid_request: no such redirect"
            )
        ) { try await page() }
    }

    @Test func `if pushing is only offered, the browser brings the request nevertheless`()
        async throws
    {
        transport.script("/par", .json(400, refused))
        let page = try await page { _ in
        } _: {
            $0.requiresPushedRequests = false
        }
        #expect(page.contains("code_challenge="))
        #expect(page.contains("prompt=consent"))
        #expect(!page.contains("tenant"))
    }

    @Test func `the error for a missing required endpoint names the setting`()
        async
    {
        await #expect {
            try await page { _ in
            } _: {
                $0.pushedEndpoint = nil
            }
        } throws: { "\($0)".contains("set auth.oauth.par_url") }
    }

    @Test func `a nonce that the server wants in the proof is sent`() async throws {
        transport.script(
            "/par",
            .json(400, #"{"error":"use_dpop_nonce"}"#),
            .json(201, #"{"request_uri":"urn:x:1"}"#)
        )
        let key = try SigningKey(pem: SampleKeys.p256)
        let page = try await page { $0.proof = ProofOfPossession(key: key) }
        #expect(page.hasSuffix("request_uri=urn%3Ax%3A1"))
        #expect(transport.seen.count == 2)
        #expect(Set(transport.seen.compactMap { $0.headers[.dpop] }).count == 2)
    }
}
