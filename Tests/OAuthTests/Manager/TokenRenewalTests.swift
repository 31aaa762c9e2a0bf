import FoundationEssentials
import NetworkCore
import OAuth
import TestSupport
import Testing

/// Requests that are signed again, and a store whose lock another process holds.
@Suite struct SignedAgainTests {
    @Test(arguments: [
        OAuthConfiguration.Grant.clientCredentials, .refreshToken(initial: Secret("initial")),
    ])
    func `a lock file that cannot be opened holds up no request`(
        grant: OAuthConfiguration.Grant
    ) async throws {
        let directory = try TokenDirectory()
        try FileManager.default.createSymbolicLink(
            atPath: "\(directory.path)/orders.lock",
            withDestinationPath: "/etc/passwd"
        )
        let store = FileTokenStore(directory: directory.path, family: "orders")
        let harness = OAuthHarness(grant: grant, store: store)
        #expect(try await harness.token() == "Bearer access-1")
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

    @Test func `a death after a request that was signed again is not blamed on a lost answer`()
        async throws
    {
        let harness = try signing()
        harness.server.script(refusal("invalid_client"), refusal("invalid_grant"))
        _ = await harness.failure()
        let detail = try #require(await harness.manager.status().lastFailure).detail
        #expect(!detail.contains("an earlier answer was lost"))
        #expect(harness.requests == 2)
    }

    @Test func `a note is taken back when the request that was signed again is refused as well`()
        async throws
    {
        let harness = try signing()
        harness.server.script(refusal("invalid_client"), refusal("invalid_client"))
        _ = await harness.failure()
        #expect(harness.requests == 2)
        #expect(try await harness.store.load()?.intent == nil)
    }
}
