import NetproxyChannels
import NetworkCore
import OAuth
import TestSupport
import Testing

/// The engine for the tokens of a program, without the program.
@Suite struct HelperAuthorizerTests {
    @Test func `a storm of 401s ends with the first response to the new token`() async throws {
        // The clock stands still, so a task that waits for time to pass would wait forever.
        let clock = ManualClock()
        let server = AuthorizationServerModel(clock: clock)
        let api = ProtectedAPIModel(server: server)
        let authorizer = HelperAuthorizer(
            TokenEndpointClient(transport: server, clock: clock),
            clock: clock,
            onEvent: { _ in }
        )
        let origin = Origin(scheme: .https, host: "api.example.com")
        let chain = RequestChain(
            [
                ReauthorizationInterceptor(authorizer: authorizer),
                AuthorizationInterceptor(authorizer: authorizer, origins: [origin]),
            ],
            transport: api
        )
        _ = try await authorizer.credential(until: nil)
        server.revokeAccess()
        api.gate.close()
        server.gate.close()
        let answers = Counter()
        let storm = Task {
            try await withThrowingTaskGroup { group in
                for _ in 0..<32 {
                    group.addTask {
                        var context = RequestContext()
                        let request = Request(origin: origin, target: "/")
                        let response = try await chain.send(request, context: &context)
                        if response.status == 200 { answers.add(1) }
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(await eventually { api.gate.waiting == 32 })
        api.gate.open()
        #expect(await eventually { await authorizer.manager.status().waiters == 32 })
        api.gate.close()
        server.gate.open()
        // One request tries the new token, and all others follow.
        #expect(await eventually { api.gate.waiting == 1 })
        api.gate.open()
        #expect(await eventually { answers.value == 32 })
        storm.cancel()
        #expect(server.requests.count == 2)
    }
}
