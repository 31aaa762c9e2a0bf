import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

@Suite struct ServerClocks {
    private func headers(_ date: String) throws -> HTTPHeaders {
        var headers: HTTPHeaders = [:]
        headers.append(try #require(HTTPField(.date, date)))
        return headers
    }

    @Test func `a server that is ahead is known to be`() throws {
        // The manual clock stands at 2027-01-15 08:00:00.
        let clock = ManualClock()
        let server = ServerClock(clock: clock)
        server.learn(from: try headers("Fri, 15 Jan 2027 08:10:00 GMT"))
        #expect(server.offset == .seconds(600))
        clock.advance(by: .seconds(5))
        #expect(server.now == clock.wallNow + .seconds(600))
        server.learn(from: try headers("Fri, 15 Jan 2027 07:50:05 GMT"))
        #expect(server.offset == .seconds(-600))
    }

    @Test func `what is known of the server's clock holds when ours is set`() throws {
        let clock = ManualClock()
        let server = ServerClock(clock: clock)
        server.learn(from: try headers("Fri, 15 Jan 2027 09:00:00 GMT"))
        clock.advance(by: .seconds(60))
        clock.setWall(by: .seconds(3600))
        #expect(server.offset == .zero)
        clock.setWall(by: .seconds(600))
        #expect(server.offset == .seconds(-600))
        #expect(server.now == UnixTime(secondsSinceEpoch: 1_800_003_660))
    }

    @Test(arguments: ["Fri, 15 Jan 2027 08:00:04 GMT", "Fri, 15 Jan 2027 07:59:57 GMT"])
    func `a difference that the way can blur is none`(_ date: String) throws {
        let server = ServerClock(clock: ManualClock())
        server.learn(from: try headers(date))
        #expect(server.offset == .zero)
    }

    @Test func `a difference of five seconds is one`() throws {
        let server = ServerClock(clock: ManualClock())
        server.learn(from: try headers("Fri, 15 Jan 2027 08:00:05 GMT"))
        #expect(server.offset == .seconds(5))
    }

    @Test func `what a cache kept for a while teaches nothing`() throws {
        let server = ServerClock(clock: ManualClock())
        for (age, offset) in [("3600", 0), ("0", -3600), ("1", -3600)] {
            var answer = try headers("Fri, 15 Jan 2027 07:00:00 GMT")
            answer.append(try #require(HTTPField(.age, age)))
            server.learn(from: answer)
            #expect(server.offset == .seconds(offset), "Age: \(age)")
        }
    }

    @Test func `what is no date teaches nothing`() throws {
        let server = ServerClock(clock: ManualClock())
        server.learn(from: try headers("Fri, 15 Jan 2027 08:10:00 GMT"))
        server.learn(from: [:])
        server.learn(from: try headers("yesterday"))
        #expect(server.offset == .seconds(600))
    }

    @Test func `a grant is made at the server's time of day, and status tells the difference`()
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

    // MARK: - Signed anew

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

    /// When the client's assertions were made, by their own word.
    private func stamps(_ harness: OAuthHarness) throws -> [Int] {
        try harness.server.requests.map { request in
            let assertion = Secret(try #require(request.form["client_assertion"]))
            return try #require(try SignedToken(assertion).claims["iat"] as? Int)
        }
    }

    @Test(arguments: [
        OAuthConfiguration.Grant.clientCredentials, .refreshToken(initial: Secret("initial")),
    ])
    func `a request that was refused for its time is signed anew at once`(
        grant: OAuthConfiguration.Grant
    ) async throws {
        let harness = try signing(grant)
        harness.server.script(try refusal("invalid_client", at: "09:00:00"))
        #expect(try await harness.token() == "Bearer access-1")
        #expect(try stamps(harness) == [1_800_000_000, 1_800_003_600])
        #expect(!harness.events.contains { if case .failed = $0 { true } else { false } })
    }

    @Test func `an assertion that was refused for its time is made anew at once`() async throws {
        let harness = OAuthHarness(grant: .provided(StampedGrant()))
        harness.server.script(try refusal("invalid_grant", at: "09:00:00"))
        #expect(try await harness.token() == "Bearer access-1")
        #expect(
            harness.server.requests.map { $0.form["assertion"] } == ["1800000000", "1800003600"]
        )
    }

    @Test func `a server whose clock jumps is not asked a third time`() async throws {
        let harness = try signing(.clientCredentials)
        harness.server.script(
            try refusal("invalid_client", at: "09:00:00"),
            try refusal("invalid_client", at: "10:00:00")
        )
        #expect(await harness.failure()?.kind == .credentialUnavailable)
        #expect(harness.requests == 2)
    }

    @Test func `a client that is refused though the clocks agree is not signed for anew`()
        async throws
    {
        let harness = try signing(.clientCredentials)
        harness.server.script(try refusal("invalid_client", at: "08:00:04"))
        #expect(await harness.failure()?.kind == .credentialUnavailable)
        #expect(harness.requests == 1)
    }

    @Test func `a client that signs nothing is refused whatever the time is`() async throws {
        let harness = OAuthHarness()
        harness.server.script(try refusal("invalid_client", at: "09:00:00"))
        #expect(await harness.failure()?.kind == .credentialUnavailable)
        #expect(harness.requests == 1)
    }

    @Test func `a skewed server neither shortens nor prolongs a token`() async throws {
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

/// An assertion that is nothing but its time.
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
