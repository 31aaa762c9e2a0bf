import FoundationEssentials
import NetworkCore
import OAuth
import TestSupport
import Testing

/// Renewals without a lock, signed again, or ended by a dead refresh token.
@Suite struct TokenRenewalTests {
    @Test func `the client's own credentials need no lock, a refresh token does`() async throws {
        let directory = try TokenDirectory()
        try FileManager.default.createSymbolicLink(
            atPath: "\(directory.path)/orders.lock",
            withDestinationPath: "/etc/passwd"
        )
        let store = FileTokenStore(directory: directory.path, family: "orders")
        #expect(try await OAuthHarness(store: store).token() == "Bearer access-1")
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")), store: store)
        #expect(await harness.failure()?.kind == .credentialUnavailable)
        #expect(harness.requests == 0)
    }

    private func refusal(_ error: String) -> AuthorizationServerModel.Mishap {
        .respond(
            401,
            #"{"error":"\#(error)"}"#,
            [.date: "Fri, 15 Jan 2027 09:00:00 GMT"]
        )
    }

    private func signing() throws -> OAuthHarness {
        let key = try SigningKey(pem: SampleKeys.p256)
        return OAuthHarness(grant: .refreshToken(initial: Secret("initial"))) {
            $0.clientAuthentication = .privateKeyJWT
            $0.clientKey = key
        }
    }

    @Test func `a death after a second signature is not blamed on a lost response`()
        async throws
    {
        let harness = try signing()
        harness.server.script(refusal("invalid_client"), refusal("invalid_grant"))
        _ = await harness.failure()
        let detail = try #require(await harness.manager.status().lastFailure).detail
        #expect(!detail.contains("an earlier answer was lost"))
        #expect(harness.requests == 2)
    }

    @Test func `an announcement is retracted if the second signature is refused as well`()
        async throws
    {
        let harness = try signing()
        harness.server.script(refusal("invalid_client"), refusal("invalid_client"))
        _ = await harness.failure()
        #expect(harness.requests == 2)
        #expect(try await harness.store.load()?.intent == nil)
    }

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
}
