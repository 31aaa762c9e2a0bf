import TestSupport
import Testing

/// The translation of a path to one below the upstream's base path.
@Suite struct BasePathStory {
    private func run(
        _ base: String,
        _ more: String = "",
        _ story: (DaemonHarness, OriginServer) async throws -> Void
    ) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: 'http://127.0.0.1:\(origin.port)\(base)'\(more) }"
        ) { try await story($0, origin) }
    }

    private func get(_ target: String, _ host: String) -> String {
        "GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n"
    }

    @Test(arguments: ["/v1", "/v1/"])
    func `a slash after the prefix is kept after the base path`(
        base: String
    ) async throws {
        try await run(base) { proxy, origin in
            let paths = [
                "/orders", "/orders/", "/orders?a=1", "/orders/?a=1", "/orders//", "/orders/1/",
            ]
            for path in paths { _ = try await proxy.exchange(get(path, "localhost")) }
            for path in ["/", "/?a=1"] {
                _ = try await proxy.exchange(get(path, "orders.localhost"))
            }
            #expect(
                origin.requests.map(\.startLine) == [
                    "GET /v1 HTTP/1.1", "GET /v1/ HTTP/1.1", "GET /v1?a=1 HTTP/1.1",
                    "GET /v1/?a=1 HTTP/1.1", "GET /v1// HTTP/1.1", "GET /v1/1/ HTTP/1.1",
                    "GET /v1/ HTTP/1.1", "GET /v1/?a=1 HTTP/1.1",
                ]
            )
        }
    }

    @Test func `without a base path the path always begins with a slash`() async throws {
        try await run("") { proxy, origin in
            for path in ["/orders", "/orders/", "/orders?a=1", "/orders/?a=1"] {
                _ = try await proxy.exchange(get(path, "localhost"))
            }
            #expect(
                origin.requests.map(\.startLine) == [
                    "GET / HTTP/1.1", "GET / HTTP/1.1", "GET /?a=1 HTTP/1.1", "GET /?a=1 HTTP/1.1",
                ]
            )
        }
    }

    @Test func `the upstream's own URL passes the channel's listener unchanged`() async throws {
        try await run("/v1", ", match: { listen: '127.0.0.1:0' }") { proxy, origin in
            let port = await proxy.ports[1]
            let authority = "127.0.0.1:\(origin.port)"
            for (path, status) in [
                ("/v1/42", 200), ("/v1?x", 200), ("/v2", 403), ("/v1/../x", 400),
            ] {
                let app = try await RawClient.connect(
                    to: port,
                    sending: get("http://\(authority)\(path)", authority)
                )
                #expect(try await app.message().status == status)
            }
            // Another name also belongs to the channel, like every request on its listener.
            let app = try await RawClient.connect(
                to: port,
                sending: get("http://orders.localhost/42", "orders.localhost")
            )
            #expect(try await app.message().status == 200)
            #expect(
                origin.requests.map(\.startLine) == [
                    "GET /v1/42 HTTP/1.1", "GET /v1?x HTTP/1.1", "GET /v1/42 HTTP/1.1",
                ]
            )
        }
    }

    @Test(arguments: [
        ("/v1/../x", 400), ("/v1/%2e%2E/x", 400), ("/v1/a/../../v1/b", 400), ("/v10", 403),
        ("/x", 403), ("/v1/a/../b", 200),
    ])
    func `dot segments that leave the base path are 400 in absolute-form`(
        path: String,
        status: Int
    ) async throws {
        try await run("/v1") { proxy, origin in
            let authority = "127.0.0.1:\(origin.port)"
            let answer = try await proxy.exchange(get("http://\(authority)\(path)", authority))
            #expect(answer.status == status)
            #expect(origin.requests.count == (status == 200 ? 1 : 0))
        }
    }
}
