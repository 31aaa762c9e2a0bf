import NetworkClient
import NetworkTesting
import OAuth
import Testing

/// Tests that the doubles of `NetworkTesting` behave like the real types.
@Suite struct ModelTests {
    @Test func `content in pieces is complete for every request`() async throws {
        let stub = StubTransport()
        stub.answer(.get, "/v1/*", with: .pieces(["1", "2"]))
        let manager = NetworkManager<OrderEndpoint>(.stubbed(stub))
        #expect(try await manager.request(.list, as: Int.self) == 12)
        #expect(try await manager.request(.list, as: Int.self) == 12)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a canceled wait of a double returns`() async {
        let (stub, clock) = (StubTransport(), ManualClock())
        let waits = [
            Task { await stub.untilRequested(1) }, Task { await clock.untilSomebodySleeps() },
        ]
        for wait in waits {
            wait.cancel()
            await wait.value
        }
    }

    @Test func `an authorization server accepts a token of any characters`() async throws {
        let server = AuthorizationServerModel()
        server.admit(refreshToken: "a/b+c=\"")
        let oauth = OAuthManager(
            service: TokenEndpointClient(transport: server),
            tokenStore: MemoryTokenStore(),
            configuration: OAuthConfiguration(
                tokenEndpoint: .init(
                    origin: Origin(scheme: .https, host: "login.example"),
                    target: "/token"
                ),
                clientID: "app",
                grant: .refreshToken(initial: Secret("a/b+c=\""))
            )
        )
        let nothing: ContinuousClock.Instant? = nil
        _ = try await oauth.credential(until: nothing)
        #expect(server.requests.map { $0.form["refresh_token"] } == ["a/b+c=\""])
    }
}
