import NetworkClient
import NetworkTesting
import Testing

/// Tests of the routes of a stub, and of the error without a route.
@Suite struct StubRouteTests {
    private let stub = StubTransport()
    private var manager: NetworkManager<PathEndpoint> { NetworkManager(.stubbed(stub)) }

    private func endpoint(_ path: String, _ query: QueryItems? = nil) -> PathEndpoint {
        PathEndpoint(path, of: "https://a.example/v1", task: query.map { .query($0) } ?? .plain)
    }

    @Test func `the error of a request without a stub names it and the stubs`() async throws {
        let none = await #expect(throws: NetworkError.self) {
            try await manager.send(endpoint("/orders"))
        }
        #expect(none?.detail == "no stub for GET /v1/orders; there are none")
        stub.answer(.get, "/orders", with: .json("[]"))
        stub.answer(.post, "/v1/orders?a=1", with: .status(201))
        let error = await #expect(throws: NetworkError.self) {
            try await manager.response(
                for: endpoint("/orders", ["page": "2", "api_key": "c4nary"]),
                options: CallOptions(validation: .any)
            )
        }
        #expect(error?.kind == .httpRequestError)
        #expect(
            error?.detail == "no stub for GET /v1/orders?page=2&api_key=<redacted>; "
                + "there are GET /orders, POST /v1/orders?a=1"
        )
        #expect(stub.requests.count == 2)
    }

    @Test func `a fallback responds to requests without a stub`() async throws {
        let stub = StubTransport { _ in .status(404) }
        let error = await #expect(throws: NetworkError.self) {
            try await NetworkManager<PathEndpoint>(.stubbed(stub)).send(endpoint("/orders"))
        }
        #expect(error?.response?.status == 404)
    }

    @Test func `a stub with a query matches only that query, and one without any`() async throws {
        stub.answer(.get, "/v1/orders", with: .json("1"))
        stub.answer(.get, "/v1/orders?page=2", with: .json("2"))
        stub.answer(.get, "/v1/*?page=3", with: .json("3"))
        func page(_ number: String?) async throws -> Int {
            let query: QueryItems? = number.map { ["page": $0] }
            return try await manager.request(endpoint("/orders", query))
        }
        #expect(try await page("2") == 2)
        #expect(try await page("3") == 3)
        #expect(try await page("22") == 1)
        #expect(try await page(nil) == 1)
    }

    @Test func `a stub of events is an event stream`() async throws {
        let events = [
            ServerSentEvent(type: "add", data: "1\n\n 2", id: "7", retry: .milliseconds(1500)),
            ServerSentEvent(data: "", id: "7"),
            ServerSentEvent(data: "x"),
        ]
        stub.answer(.get, "/v1/feed", with: .events(events), .status(204))
        var seen: [ServerSentEvent] = []
        let feed = manager.events(
            endpoint("/feed"),
            reconnecting: EventReconnection(delay: .zero, maximum: .zero)
        )
        for try await event in feed.prefix(3) { seen.append(event) }
        #expect(seen == events)
        #expect(try await manager.response(for: endpoint("/feed")).status == 204)
    }

    @Test func `the error of a response without a type names the expected one`() async throws {
        stub.answer(.get, "/v1/feed", with: .pieces(["data: 1\n\n"]))
        let error = await #expect(throws: NetworkError.self) {
            for try await _ in manager.events(endpoint("/feed")) {}
        }
        #expect(error?.detail == "the content has no type; expected text/event-stream")
    }
}
