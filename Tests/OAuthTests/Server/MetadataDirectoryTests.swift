import NetworkCore
import OAuth
import TestSupport
import Testing

/// The metadata of authorization servers.
@Suite struct MetadataDirectoryTests {
    private let server = ScriptedServer()
    private let clock = ManualClock()
    private let inFront = "/.well-known/oauth-authorization-server"

    private func directory(
        _ issuer: String = "https://login.example.com",
        plainHTTP: ServerEndpoint.PlainHTTP = .refused
    ) -> MetadataDirectory {
        MetadataDirectory(
            issuer: issuer,
            transport: server,
            clock: clock,
            plainHTTP: plainHTTP
        )
    }

    private func document(_ issuer: String, _ more: String = "") -> ScriptedServer.Answer {
        .json(
            200,
            #"{"issuer":"\#(issuer)","token_endpoint":"https://login.example.com/t?x=1"\#(more)}"#
        )
    }

    private func failure(_ directory: MetadataDirectory) async -> MetadataError? {
        do {
            _ = try await directory.metadata()
            return nil
        } catch {
            return error
        }
    }

    @Test func `endpoints and capabilities are read`() async throws {
        server.script(
            inFront,
            document(
                "https://login.example.com",
                #"""
                ,"authorization_endpoint":"https://login.example.com/a",
                "device_authorization_endpoint":"https://login.example.com/d",
                "revocation_endpoint":"https://login.example.com/r",
                "mtls_endpoint_aliases":{"token_endpoint":"https://mtls.example.com/t"},
                "token_endpoint_auth_methods_supported":["private_key_jwt"],
                "code_challenge_methods_supported":["S256"],
                "authorization_response_iss_parameter_supported":true
                """#
            )
        )
        let found = try await directory().metadata()
        #expect(found.tokenEndpoint?.description == "https://login.example.com/t?x=1")
        #expect(found.authorizationEndpoint?.target == "/a")
        #expect(found.deviceEndpoint?.target == "/d")
        #expect(found.revocationEndpoint?.target == "/r")
        #expect(found.certificateTokenEndpoint?.origin.host == "mtls.example.com")
        #expect(found.clientAuthentications == ["private_key_jwt"])
        #expect(found.challengeMethods == ["S256"])
        #expect(found.answersWithIssuer)
    }

    @Test func `an issuer with a path is looked up before and after the path`() async {
        _ = await failure(directory("https://login.example.com/tenant/"))
        #expect(
            server.seen.map(\.url) == [
                "https://login.example.com/.well-known/oauth-authorization-server/tenant",
                "https://login.example.com/tenant/.well-known/openid-configuration",
                "https://login.example.com/.well-known/openid-configuration/tenant",
            ]
        )
    }

    @Test func `metadata is requested without a content coding`() async throws {
        server.script(inFront, document("https://login.example.com"))
        _ = try await directory().metadata()
        #expect(server.seen.first?.headers[.acceptEncoding] == "identity")
    }

    @Test func `the OpenID Connect place is tried as well`() async throws {
        server.script(
            "/.well-known/openid-configuration",
            document("https://login.example.com")
        )
        #expect(try await directory().metadata().tokenEndpoint != nil)
        #expect(server.seen.count == 2)
    }

    @Test(arguments: [(200, "<!DOCTYPE html>"), (200, "{}"), (302, "")] as [(HTTPStatus, String)])
    func `an HTML page at one place does not hide the document at another`(
        _ status: HTTPStatus,
        _ page: String
    ) async throws {
        server.script(inFront, .json(status, page))
        server.script(
            "/.well-known/openid-configuration",
            document("https://login.example.com")
        )
        #expect(try await directory().metadata().tokenEndpoint != nil)
    }

    @Test func `the error for a server with only HTML pages names the first page`() async {
        server.script(inFront, .json(302, ""))
        server.script("/.well-known/openid-configuration", .json(200, "<!DOCTYPE html>"))
        let error = await failure(directory())
        #expect(error?.description.contains("answered 302") == true)
        #expect(error?.isTransient == false)
    }

    @Test(arguments: [
        "https://login.example.com/", "https://LOGIN.example.com", "https://evil.example.com", "",
    ])
    func `an issuer that differs in one character is another issuer`(issuer: String) async {
        server.script(inFront, document(issuer))
        let words = await failure(directory())?.description
        #expect(words?.contains("names another issuer") == true)
        // The right document may be at the other place.
        #expect(server.seen.count == 2)
    }

    @Test(arguments: [
        "http://login.example.com", "https://login.example.com?x", "login.example.com", "ftp://a",
    ])
    func `nothing is sent to an issuer without an https URL`(issuer: String) async {
        #expect(await failure(directory(issuer))?.isTransient == false)
        #expect(server.seen.isEmpty)
    }

    @Test func `a token endpoint without TLS is refused`() async {
        let alias = #","mtls_endpoint_aliases":{"token_endpoint":"http://login.example.com/t"}"#
        server.script(inFront, document("https://login.example.com", alias))
        let words = await failure(directory())?.description
        #expect(words?.contains("mtls_endpoint_aliases") == true)
    }

    @Test(arguments: ["http://login.example.com/r", "", "/revoke"])
    func `an unusable optional endpoint counts as absent`(url: String) async throws {
        let endpoint = #","revocation_endpoint":"\#(url)""#
        server.script(inFront, document("https://login.example.com", endpoint))
        let metadata = try await directory().metadata()
        #expect(metadata.tokenEndpoint != nil)
        #expect(metadata.revocationEndpoint == nil)
    }

    @Test func `a document that is too long is refused`() async {
        let long = String(repeating: " ", count: 256 * 1024 + 1)
        server.script(inFront, .json(200, long))
        #expect(await failure(directory())?.isTransient == true)
    }

    @Test func `concurrent callers share one fetch, which is repeated after a day`()
        async throws
    {
        server.script(inFront, document("https://login.example.com"))
        let directory = directory()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { _ = await failure(directory) } }
        }
        #expect(server.seen.count == 1)
        clock.advance(by: .seconds(24 * 3600))
        _ = try await directory.metadata()
        #expect(server.seen.count == 2)
    }

    @Test func `cached metadata is used while the server is down`() async throws {
        server.script(inFront, document("https://login.example.com"), .unreachable)
        let directory = directory()
        _ = try await directory.metadata()
        clock.advance(by: .seconds(25 * 3600))
        #expect(try await directory.metadata().tokenEndpoint != nil)
        #expect(server.seen.count == 2)
    }

    @Test func `a failed fetch is not repeated within a minute`() async throws {
        server.script(inFront, document("https://login.example.com"), .unreachable)
        let directory = directory()
        _ = try await directory.metadata()
        clock.advance(by: .seconds(25 * 3600))
        for _ in 0..<3 { _ = try await directory.metadata() }
        #expect(server.seen.count == 2)
        clock.advance(by: .seconds(60))
        _ = try await directory.metadata()
        #expect(server.seen.count == 3)
    }

    @Test func `after a failed token request metadata is fetched again, but not at once`()
        async throws
    {
        server.script(inFront, document("https://login.example.com"))
        let directory = directory()
        _ = try await directory.metadata()
        await directory.invalidate()
        _ = try await directory.metadata()
        #expect(server.seen.count == 1)
        clock.advance(by: .seconds(60))
        _ = try await directory.metadata()
        #expect(server.seen.count == 2)
    }

    @Test func `a server that is down does not count as one without metadata`() async {
        server.script(inFront, .unreachable)
        #expect(await failure(directory())?.isTransient == true)
        #expect(await failure(directory("https://none.example.com/x"))?.isTransient == false)
    }

    // MARK: - In use

    private func client(
        _ method: OAuthConfiguration.ClientAuthentication
    ) -> (DiscoveringTokenClient, OAuthConfiguration) {
        var configuration = OAuthHarness.configuration(.clientCredentials)
        configuration.tokenEndpoint = ServerEndpoint(
            origin: Origin(scheme: .https, host: "login.example.com"),
            target: "/"
        )
        configuration.clientAuthentication = method
        return (
            DiscoveringTokenClient(
                TokenEndpointClient(transport: server, clock: clock),
                directory: directory()
            ), configuration
        )
    }

    @Test func `tokens are requested at the endpoint that the metadata names`() async throws {
        server.script(inFront, document("https://login.example.com"))
        server.script("/t?x=1", .json(200, ScriptedServer.good))
        let (client, configuration) = client(.basic)
        let response = try await client.tokens(
            for: .clientCredentials(scopes: []),
            configuration: configuration,
            deadline: clock.now + .seconds(10)
        )
        #expect(response.accessToken.reveal() == "t")
        #expect(server.seen.map(\.url).last == "https://login.example.com/t?x=1")
    }

    @Test func `the audience of an assertion is the issuer of the metadata`() async throws {
        server.script(inFront, document("https://login.example.com"))
        server.script("/t?x=1", .json(200, ScriptedServer.good))
        var (client, configuration) = client(.none)
        configuration.grant = .provided(
            AssertionGrant(
                key: try SigningKey(pem: SampleKeys.p256),
                issuer: "app",
                subject: "alice"
            )
        )
        let manager = OAuthManager(
            service: client,
            tokenStore: MemoryTokenStore(),
            configuration: configuration,
            clock: clock
        )
        _ = try await manager.credential(until: nil)
        let assertion = try #require(server.seen.last?.form["assertion"])
        let claims = try SignedToken(Secret(assertion)).claims
        #expect(claims["aud"] as? String == "https://login.example.com")
    }

    @Test
    func
        `an authentication method that the server does not offer is an error, and no other is tried`()
        async
    {
        server.script(
            inFront,
            document(
                "https://login.example.com",
                #","token_endpoint_auth_methods_supported":["client_secret_post","none"]"#
            )
        )
        let (client, configuration) = client(.basic)
        await #expect {
            try await client.tokens(
                for: .clientCredentials(scopes: []),
                configuration: configuration,
                deadline: clock.now + .seconds(10)
            )
        } throws: { error in
            let failure = error as? TokenFailure
            return failure?.kind == .configuration
                && failure?.detail.contains("client_secret_post, none") == true
        }
        #expect(server.seen.count == 1)
    }

    @Test func `the audience of client assertions is the discovered issuer`() async throws {
        server.script(inFront, document("https://login.example.com"))
        server.script("/t?x=1", .json(200, ScriptedServer.good))
        var (client, configuration) = client(.privateKeyJWT)
        configuration.clientKey = try SigningKey(pem: SampleKeys.p256)
        _ = try await client.tokens(
            for: .clientCredentials(scopes: []),
            configuration: configuration,
            deadline: clock.now + .seconds(10)
        )
        let text = try #require(server.seen.last?.form["client_assertion"])
        let audience = try SignedToken(Secret(text)).claims["aud"] as? String
        #expect(audience == "https://login.example.com")
    }

    @Test func `an endpoint that returns an OAuth error has not moved`() async throws {
        server.script(inFront, document("https://login.example.com"))
        server.script("/t?x=1", .json(400, #"{"error":"invalid_scope"}"#))
        let (client, configuration) = client(.basic)
        for _ in 0..<2 {
            await #expect(throws: TokenFailure.self) {
                try await client.tokens(
                    for: .clientCredentials(scopes: []),
                    configuration: configuration,
                    deadline: clock.now + .seconds(10)
                )
            }
            clock.advance(by: .seconds(61))
        }
        #expect(server.seen.count { $0.url.hasSuffix(inFront) } == 1)
    }

    @Test func `a client without a certificate does not use the alias`() async throws {
        server.script(
            inFront,
            document(
                "https://login.example.com",
                #","mtls_endpoint_aliases":{"token_endpoint":"https://mtls.example.com/m"}"#
            )
        )
        server.script("/t?x=1", .json(200, ScriptedServer.good))
        let (client, configuration) = client(.basic)
        _ = try await client.tokens(
            for: .clientCredentials(scopes: []),
            configuration: configuration,
            deadline: clock.now + .seconds(10)
        )
        #expect(server.seen.last?.url == "https://login.example.com/t?x=1")
    }

    @Test func `a client with a certificate uses the alias`() async throws {
        server.script(
            inFront,
            document(
                "https://login.example.com",
                #","mtls_endpoint_aliases":{"token_endpoint":"https://mtls.example.com/m"}"#
            )
        )
        server.script("/m", .json(200, ScriptedServer.good))
        let (client, configuration) = client(.tls)
        _ = try await client.tokens(
            for: .clientCredentials(scopes: []),
            configuration: configuration,
            deadline: clock.now + .seconds(10)
        )
        let request = try #require(server.seen.last)
        #expect(request.url == "https://mtls.example.com/m")
        #expect(request.form["client_id"] == "client")
        #expect(request.form["client_secret"] == nil)
        #expect(request.headers[.authorization] == nil)
    }
}
