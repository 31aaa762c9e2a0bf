import Foundation
import NetworkClient
import NetworkTesting
import OrderAPI
import Testing

@Suite struct OrderAPITests {
    @Test func `orders come from the sample`() async throws {
        let api = OrderAPI(NetworkManager(stubbing: NetworkChannel(transport: StubTransport())))
        #expect(try await api.orders() == [Order(id: 1, item: "lamp")])
    }

    @Test func `an order is stored as JSON under its id`() async throws {
        let stub = StubTransport()
        stub.answer(.put, "/dav/orders/*", with: .status(201))
        try await OrderAPI(NetworkManager(NetworkChannel(transport: stub)))
            .store(Order(id: 7, item: "chair"))
        let request = try #require(stub.requests.first)
        #expect(request.path == "/dav/orders/7.json")
        let sent = try JSONDecoder().decode(Order.self, from: Data(request.text.utf8))
        #expect(sent == Order(id: 7, item: "chair"))
    }

    @Test func `an account needs a sign-in`() async {
        let api = OrderAPI(NetworkManager(NetworkChannel(transport: StubTransport())))
        let error = await #expect(throws: NetworkError.self) { try await api.account() }
        #expect(error?.kind == .reauthorizationRequired)
    }

    @Test func `a token that the server ended is renewed once for everybody`() async throws {
        let clock = ManualClock()
        let server = AuthorizationServerModel(clock: clock)
        let shop = ProtectedAPIModel(server: server)
        let oauth = OAuthManager(
            service: TokenEndpointClient(transport: server, clock: clock),
            tokenStore: MemoryTokenStore(),
            configuration: OAuthConfiguration(
                tokenEndpoint: "https://login.example/token",
                clientID: "orders",
                grant: .refreshToken(initial: Secret("initial"))
            ),
            clock: clock
        )
        let manager = NetworkManager<OrderEndpoint>(
            NetworkChannel(transport: shop, host: "shop.example", authorizer: oauth)
        )
        #expect(try await manager.response(for: .account).text == "welcome")
        server.revokeAccess()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { try await manager.send(.account) } }
            try await group.waitForAll()
        }
        #expect(server.requests.count == 2)
        #expect(!server.sawReuse)
    }

    @Test func `a shop that refuses connections is asked again`() async throws {
        let faults = FaultInterceptor(.connectionRefused, .first(2))
        let stub = StubTransport { _ in .json("[]") }
        var channel = NetworkChannel(transport: FaultyTransport(stub, faults))
        channel.retry?.base = .zero
        #expect(try await OrderAPI(NetworkManager(channel)).orders().isEmpty)
        #expect(faults.attempts == 3)
    }
}
