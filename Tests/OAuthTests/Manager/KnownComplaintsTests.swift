import NetworkCore
import OAuth
import TestSupport
import Testing

/// Complaints of the users of other libraries that no other suite answers.
@Suite struct KnownComplaintsTests {
    @Test func `a dead refresh token is kept, with the reason`() async throws {
        let store = MemoryTokenStore()
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")), store: store)
        harness.server.revokeAll()
        #expect(await harness.failure()?.kind == .reauthorizationRequired)
        let quarantine = try #require(store.record?.quarantine)
        #expect(quarantine.reason.contains("invalid_grant"))
        #expect(quarantine.reason.contains("sign in again"))
        // After a restart it is not presented again either.
        let restarted = OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            clock: harness.clock,
            server: harness.server,
            store: store
        )
        #expect(await restarted.failure()?.kind == .reauthorizationRequired)
        #expect(harness.requests == 1)
    }

    @Test func `a refresh sends audience, resources and parameters again`() async throws {
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial"))) {
            $0.audience = "api"
            $0.resources = ["urn:a"]
            $0.parameters = [FormParameter("tenant", "x")]
        }
        _ = try await harness.token()
        _ = await harness.reject(1)
        for request in harness.server.requests {
            #expect(request.form["audience"] == "api")
            #expect(request.form["resource"] == "urn:a")
            #expect(request.form["tenant"] == "x")
        }
        #expect(harness.requests == 2)
    }

    @Test func `the server's own words reach the person who asks`() async throws {
        let harness = OAuthHarness()
        harness.server.script(
            .respond(401, #"{"error":"invalid_client","error_description":"no such app"}"#, [:])
        )
        let error = await harness.failure()
        #expect(error?.detail.contains("invalid_client: no such app") == true)
        let failure = try #require(await harness.manager.status().lastFailure)
        #expect(failure.serverError == "invalid_client")
        #expect(failure.kind == "configuration")
    }

    @Test func `a machine that slept past the end of a token does not send it`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        // No timer of ours has to fire for that: the deadline is compared when the token is read.
        harness.clock.setWall(by: .seconds(8 * 3600))
        #expect(harness.manager.currentCredential() == nil)
        #expect(try await harness.token() == "Bearer access-2")
    }

    @Test func `processes that started together do not renew together`() async throws {
        func staleAfter(_ jitter: Double) async throws -> Int {
            let clock = ManualClock()
            let server = AuthorizationServerModel(clock: clock)
            let manager = OAuthManager(
                service: TokenEndpointClient(transport: server, clock: clock),
                tokenStore: MemoryTokenStore(),
                configuration: OAuthHarness.configuration(.clientCredentials),
                clock: clock,
                jitter: { jitter }
            )
            _ = try await manager.credential(until: nil)
            var seconds = 0
            while await manager.status().state == .fresh {
                clock.advance(by: .seconds(1))
                seconds += 1
            }
            return seconds
        }
        #expect(try await staleAfter(0) == 3300)
        #expect(try await staleAfter(1) == 3330)
    }

    @Test func `two channels with one login each get a token of their own audience`() async throws {
        let clock = ManualClock()
        let server = AuthorizationServerModel(clock: clock)
        let store = MemoryTokenStore()
        func harness(_ audience: String) -> OAuthHarness {
            OAuthHarness(
                grant: .refreshToken(initial: Secret("initial")),
                clock: clock,
                server: server,
                store: store
            ) { $0.audience = audience }
        }
        let (one, other) = (harness("one"), harness("other"))
        async let first = one.token()
        async let second = other.token()
        #expect(try await first != second)
        #expect(server.requests.count == 2)
        #expect(!server.sawReuse)
    }
}
