import NetworkCore
import OAuth
import TestSupport
import Testing

/// Assertions carry the server's time of day, and are signed again if the server rejects their time.
@Suite struct SignatureTimeTests {
    private func headers(_ date: String) throws -> HTTPHeaders {
        var headers: HTTPHeaders = [:]
        headers.append(try #require(HTTPField(.date, date)))
        return headers
    }

    @Test func `a grant is made at the server's time of day, and status shows the offset`()
        async throws
    {
        let provider = StampedGrant()
        let harness = OAuthHarness(grant: .provided(provider))
        harness.server.script(
            .respond(503, "", try headers("Fri, 15 Jan 2027 09:00:00 GMT"))
        )
        _ = await harness.failure()
        #expect(await harness.manager.status().clockOffset == .seconds(3600))
        harness.clock.advance(by: .seconds(61))
        #expect(try await harness.token() == "Bearer access-1")
        #expect(
            harness.server.requests.map { $0.form["assertion"] } == ["1800000000", "1800003661"]
        )
    }

    private func refusal(
        _ error: String,
        at time: String
    ) throws -> AuthorizationServerModel.Mishap {
        .respond(401, #"{"error":"\#(error)"}"#, try headers("Fri, 15 Jan 2027 \(time) GMT"))
    }

    /// A client that signs each request.
    private func signing(_ grant: OAuthConfiguration.Grant) throws -> OAuthHarness {
        let key = try SigningKey(pem: SampleKeys.p256)
        return OAuthHarness(grant: grant) {
            $0.clientAuthentication = .privateKeyJWT
            $0.clientKey = key
        }
    }

    /// The times of the client's assertions, by their claims.
    private func stamps(_ harness: OAuthHarness) throws -> [Int] {
        try harness.server.requests.map { request in
            let assertion = Secret(try #require(request.form["client_assertion"]))
            return try #require(try SignedToken(assertion).claims["iat"] as? Int)
        }
    }

    @Test(arguments: [
        OAuthConfiguration.Grant.clientCredentials, .refreshToken(initial: Secret("initial")),
    ])
    func `a request refused because of its time is signed again at once`(
        grant: OAuthConfiguration.Grant
    ) async throws {
        let harness = try signing(grant)
        harness.server.script(try refusal("invalid_client", at: "09:00:00"))
        #expect(try await harness.token() == "Bearer access-1")
        #expect(try stamps(harness) == [1_800_000_000, 1_800_003_600])
        #expect(!harness.events.contains { if case .failed = $0 { true } else { false } })
    }

    @Test func `an assertion refused because of its time is made again at once`() async throws {
        let harness = OAuthHarness(grant: .provided(StampedGrant()))
        harness.server.script(try refusal("invalid_grant", at: "09:00:00"))
        #expect(try await harness.token() == "Bearer access-1")
        #expect(
            harness.server.requests.map { $0.form["assertion"] } == ["1800000000", "1800003600"]
        )
    }

    @Test func `a server whose clock jumps gets no third request`() async throws {
        let harness = try signing(.clientCredentials)
        harness.server.script(
            try refusal("invalid_client", at: "09:00:00"),
            try refusal("invalid_client", at: "10:00:00")
        )
        #expect(await harness.failure()?.kind == .credentialUnavailable)
        #expect(harness.requests == 2)
    }

    @Test func `a client refused while the clocks agree is not signed again`()
        async throws
    {
        let harness = try signing(.clientCredentials)
        harness.server.script(try refusal("invalid_client", at: "08:00:04"))
        #expect(await harness.failure()?.kind == .credentialUnavailable)
        #expect(harness.requests == 1)
    }

    @Test func `a client that does not sign is refused at any offset`() async throws {
        let harness = OAuthHarness()
        harness.server.script(try refusal("invalid_client", at: "09:00:00"))
        #expect(await harness.failure()?.kind == .credentialUnavailable)
        #expect(harness.requests == 1)
    }

    @Test func `the server's clock changes no token's lifetime`() async throws {
        let harness = OAuthHarness()
        harness.server.script(
            .respond(
                200,
                #"{"access_token":"t","expires_in":3600}"#,
                try headers("Fri, 15 Jan 2027 20:00:00 GMT")
            )
        )
        #expect(try await harness.token() == "Bearer t")
        #expect(await harness.manager.status().expiresIn == .seconds(3600))
    }
}

/// An assertion that consists of its time.
private struct StampedGrant: GrantProviding {
    let identity = "stamped"

    func grant(
        for configuration: OAuthConfiguration,
        at now: UnixTime
    ) async throws(TokenFailure) -> TokenGrant {
        TokenGrant(
            type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
            secretParameters: [.init("assertion", Secret("\(Int(now.secondsSinceEpoch))"))]
        )
    }
}
