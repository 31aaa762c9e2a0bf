import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

/// The cost of a token for every request.
@Suite struct CredentialSnapshotTests {
    @Test func `a request with a live token passes both interceptors without suspending`()
        async throws
    {
        let harness = OAuthHarness()
        _ = try await harness.token()
        let chain = RequestChain(
            [
                ReauthorizationInterceptor(authorizer: harness.manager),
                AuthorizationInterceptor(
                    authorizer: harness.manager,
                    origins: [OAuthHarness.apiOrigin]
                ),
            ],
            transport: FixedAnswer(status: 200)
        )
        let status = Mutex<HTTPStatus?>(nil)
        // Runs synchronously up to the first suspension.
        let exchange = Task.immediate {
            var context = RequestContext()
            let response = try await chain.send(
                Request(origin: OAuthHarness.apiOrigin, target: "/"),
                context: &context
            )
            status.withLock { $0 = response.status }
        }
        #expect(status.withLock { $0 } == 200)
        try await exchange.value
    }

    @Test func `the current token can be read while the manager is busy`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.clock.advance(by: .seconds(3400))
        harness.server.gate.close()
        // The token is stale: this starts a renewal that no request waits for.
        #expect(harness.manager.currentCredential()?.generation == 1)
        #expect(await eventually { harness.server.gate.waiting == 1 })
        #expect(harness.manager.currentCredential()?.generation == 1)
        harness.server.gate.open()
        #expect(await eventually { harness.manager.currentCredential()?.generation == 2 })
    }
}
