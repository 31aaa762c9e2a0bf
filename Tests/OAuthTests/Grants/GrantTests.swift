import NetworkCore
import OAuth
import TestSupport
import Testing

/// Grants and client authentication beyond secrets and refresh tokens.
@Suite struct GrantTests {
    private let server = ScriptedServer()
    private let clock = ManualClock()

    init() { server.script("/token", .json(200, ScriptedServer.good)) }

    private func manager(
        _ grant: OAuthConfiguration.Grant,
        _ change: (inout OAuthConfiguration) -> Void = { _ in }
    ) -> OAuthManager {
        var configuration = OAuthHarness.configuration(grant)
        change(&configuration)
        return OAuthManager(
            service: TokenEndpointClient(transport: server, clock: clock),
            tokenStore: MemoryTokenStore(),
            configuration: configuration,
            clock: clock
        )
    }

    @Test func `private_key_jwt signs each request, with the issuer as audience`() async throws {
        let key = try SigningKey(pem: SampleKeys.p256, id: "k1")
        let manager = manager(.clientCredentials) {
            $0.clientAuthentication = .privateKeyJWT
            $0.clientKey = key
            $0.issuer = "https://login.example.com/tenant"
        }
        _ = try await manager.credential(until: nil)
        try await manager.forceRefresh()
        #expect(server.seen.count == 2)
        var ids: Set<String> = []
        for request in server.seen {
            #expect(
                request.form["client_assertion_type"]
                    == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
            )
            #expect(request.form["client_secret"] == nil)
            #expect(request.headers[.authorization] == nil)
            let text = try #require(request.form["client_assertion"])
            let token = try SignedToken(Secret(text))
            #expect(token.claims["iss"] as? String == "client")
            #expect(token.claims["sub"] as? String == "client")
            #expect(token.claims["aud"] as? String == "https://login.example.com/tenant")
            #expect(token.header["kid"] == "k1")
            #expect(token.isSigned(by: key))
            ids.insert(token.claims["jti"] as? String ?? "")
        }
        #expect(ids.count == 2)
    }

    @Test func `the audience of client assertions can be configured`() async throws {
        let key = try SigningKey(pem: SampleKeys.ed25519)
        let manager = manager(.clientCredentials) {
            $0.clientAuthentication = .privateKeyJWT
            $0.clientKey = key
            $0.issuer = "https://login.example.com"
            $0.clientAssertionAudience = "https://login.example.com/token"
        }
        _ = try await manager.credential(until: nil)
        let text = try #require(server.seen.first?.form["client_assertion"])
        let token = try SignedToken(Secret(text))
        #expect(token.claims["aud"] as? String == "https://login.example.com/token")
    }

    @Test func `an assertion grant has issuer, subject, audience and lifetime`() async throws {
        let key = try SigningKey(pem: SampleKeys.rsa)
        let grant = AssertionGrant(key: key, issuer: "app", subject: "alice")
        let manager = manager(.provided(grant)) {
            $0.issuer = "https://login.example.com"
            $0.clientAuthentication = .none
            $0.clientID = ""
        }
        _ = try await manager.credential(until: nil)
        let request = try #require(server.seen.first)
        #expect(request.form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer")
        #expect(request.form["scope"] == "read")
        #expect(request.form["client_id"] == nil)
        let token = try SignedToken(Secret(try #require(request.form["assertion"])))
        #expect(token.claims["iss"] as? String == "app")
        #expect(token.claims["sub"] as? String == "alice")
        #expect(token.claims["aud"] as? String == "https://login.example.com")
        let (issued, end) = (token.claims["iat"] as? Int, token.claims["exp"] as? Int)
        #expect(end == issued.map { $0 + 60 })
        #expect(token.isSigned(by: key))
    }

    @Test func `a service account signs its scopes and needs no refresh token`()
        async throws
    {
        let file = #"""
            {"client_email":"robot@example.com","token_uri":"https://login.example.com/token",
             "private_key_id":"k7","private_key":"\#(
                SampleKeys.rsa.reveal().replacing("\n", with: "\\n"))"}
            """#
        let grant = AssertionGrant(try ServiceAccountKey(json: Secret(file)))
        let manager = manager(.provided(grant)) {
            $0.clientAuthentication = .none
            $0.clientID = ""
        }
        _ = try await manager.credential(until: nil)
        let request = try #require(server.seen.first)
        #expect(request.form["scope"] == nil)
        let token = try SignedToken(Secret(try #require(request.form["assertion"])))
        #expect(token.claims["scope"] as? String == "read")
        #expect(token.claims["aud"] as? String == "https://login.example.com/token")
        #expect(token.header["kid"] == "k7")
        // A refresh token in the response does not change this grant.
        try await manager.forceRefresh()
        #expect(server.seen.last?.form["refresh_token"] == nil)
        #expect(server.seen.last?.form["assertion"] != request.form["assertion"])
    }

    @Test func `a token to exchange is read each time`() async throws {
        let counter = Counter()
        let grant = ExchangeGrant(
            subject: .init(type: "urn:ietf:params:oauth:token-type:jwt") {
                Secret("subject-\(counter.next())")
            },
            actor: .init(type: "urn:x") { Secret("actor") },
            requestedType: "urn:y",
            identity: "tests"
        )
        let manager = manager(.provided(grant))
        _ = try await manager.credential(until: nil)
        try await manager.forceRefresh()
        #expect(server.seen.map { $0.form["subject_token"] } == ["subject-1", "subject-2"])
        let form = try #require(server.seen.first?.form)
        #expect(form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange")
        #expect(form["subject_token_type"] == "urn:ietf:params:oauth:token-type:jwt")
        #expect(form["actor_token"] == "actor")
        #expect(form["actor_token_type"] == "urn:x")
        #expect(form["requested_token_type"] == "urn:y")
        #expect(form["scope"] == "read")
    }

    @Test func `tokens of one exchange serve no other`() {
        func token(_ type: String) -> ExchangeGrant.Token { .init(type: type) { Secret("t") } }
        let grants = [
            ExchangeGrant(subject: token("urn:a"), identity: "alice"),
            ExchangeGrant(subject: token("urn:a"), identity: "bob"),
            ExchangeGrant(subject: token("urn:b"), identity: "alice"),
            ExchangeGrant(subject: token("urn:a"), actor: token("urn:b"), identity: "alice"),
            ExchangeGrant(subject: token("urn:a"), requestedType: "urn:b", identity: "alice"),
        ]
        #expect(Set(grants.map(\.identity)).count == grants.count)
    }

    @Test func `a subject token that cannot be read is reported as a failure`() async throws {
        struct Missing: Error, CustomStringConvertible {
            let description = "cannot read /run/token"
        }
        let grant = ExchangeGrant(
            subject: .init(type: "urn:x") { throw Missing() },
            identity: "tests"
        )
        let manager = manager(.provided(grant))
        await #expect {
            try await manager.credential(until: nil)
        } throws: { error in
            (error as? NetworkError)?.detail.contains("cannot read /run/token") == true
        }
        #expect(server.seen.isEmpty)
    }

    @Test func `an assertion that the server repeats is not shown`() async throws {
        let key = try SigningKey(pem: SampleKeys.p256)
        server.script("/token", .json(400, #"{"error":"invalid_client","error_description":"x"}"#))
        let grant = ExchangeGrant(
            subject: .init(type: "urn:x") { Secret("c4nary") },
            identity: "tests"
        )
        server.script(
            "/token",
            .json(400, #"{"error":"invalid_request","error_description":"c4nary is bad"}"#)
        )
        let manager = manager(.provided(grant)) { $0.clientKey = key }
        await #expect {
            try await manager.credential(until: nil)
        } throws: { error in
            let detail = (error as? NetworkError)?.detail ?? ""
            return detail.contains("<redacted> is bad") && !detail.contains("c4nary")
        }
    }

    // MARK: - Revocation

    private func revocation(_ path: String?) -> Revocation {
        var metadata = ServerMetadata(issuer: "https://login.example.com")
        metadata.revocationEndpoint = path.flatMap {
            ServerEndpoint("https://login.example.com\($0)")
        }
        return Revocation(
            transport: server,
            server: metadata,
            configuration: OAuthHarness.configuration(.refreshToken(initial: nil)),
            clock: clock
        )
    }

    @Test func `a token is revoked by the client it belongs to`() async throws {
        server.script("/revoke", .json(200, ""))
        #expect(await revocation("/revoke").revoke(Secret("r1"), .refreshToken) == .revoked)
        let request = try #require(server.seen.first)
        #expect(request.form == ["token": "r1", "token_type_hint": "refresh_token"])
        #expect(request.headers[.authorization]?.hasPrefix("Basic ") == true)
    }

    @Test func `a token is revoked at the server's time of day`() async throws {
        server.script("/revoke", .json(200, ""))
        var metadata = ServerMetadata(issuer: "https://login.example.com")
        metadata.revocationEndpoint = ServerEndpoint("https://login.example.com/revoke")
        var configuration = OAuthHarness.configuration(.refreshToken(initial: nil))
        configuration.clientAuthentication = .privateKeyJWT
        configuration.clientKey = try SigningKey(pem: SampleKeys.p256)
        let revocation = Revocation(
            transport: server,
            server: metadata,
            configuration: configuration,
            clock: clock,
            clockOffset: .seconds(3600)
        )
        #expect(await revocation.revoke(Secret("r1"), .refreshToken) == .revoked)
        let assertion = Secret(try #require(server.seen.first?.form["client_assertion"]))
        #expect(try SignedToken(assertion).claims["iat"] as? Int == 1_800_003_600)
    }

    @Test func `a failed revocation is reported`() async {
        #expect(await revocation(nil).revoke(Secret("r1"), .refreshToken) == .notOffered)
        server.script("/revoke", .json(400, #"{"error":"unsupported_token_type"}"#))
        #expect(await revocation("/revoke").revoke(Secret("r1"), .accessToken) == .kindNotOffered)
        server.script("/revoke", .json(503, ""))
        #expect(
            await revocation("/revoke").revoke(Secret("r1"), .refreshToken)
                == .failed("https://login.example.com answered 503")
        )
    }
}
