import TestSupport
import Testing

/// OPTIONS and TRACE: how far they go.
@Suite struct LastStopStory {
    private static func story(
        base: String = "",
        auth: String = "",
        _ story: (DaemonHarness, OriginServer) async throws -> Void
    ) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok("origin") }
        try await DaemonHarness.run(
            channels: "orders: { upstream: 'http://127.0.0.1:\(origin.port)\(base)'\(auth) }"
        ) { proxy in try await story(proxy, origin) }
    }

    @Test(arguments: ["OPTIONS", "TRACE"])
    func `each hop takes one from Max-Forwards`(method: String) async throws {
        try await LastStopStory.story { proxy, origin in
            let answer = try await proxy.exchange(
                Raw.request(method, "/orders/1", fields: ["Max-Forwards: 7"])
            )
            #expect(answer.body == "origin")
            #expect(origin.requests.first?["Max-Forwards"] == "6")
        }
    }

    @Test func `OPTIONS turns back at zero`() async throws {
        try await LastStopStory.story { proxy, origin in
            let answer = try await proxy.exchange(
                Raw.request("OPTIONS", "/orders/1", fields: ["Max-Forwards: 0"])
            )
            #expect(answer.status == 200)
            #expect(answer["Content-Length"] == "0")
            #expect(answer["Allow"]?.contains("GET") == true)
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `TRACE turns back at zero, without secrets`() async throws {
        try await LastStopStory.story { proxy, origin in
            let answer = try await proxy.exchange(
                Raw.request(
                    "TRACE",
                    "/orders/1",
                    fields: ["Max-Forwards: 0", "X-A: 1", "Authorization: x", "Cookie: y"]
                )
            )
            #expect(answer.status == 200)
            #expect(answer["Content-Type"] == "message/http")
            #expect(answer.body.hasPrefix("TRACE /orders/1 HTTP/1.1\r\nHost: localhost\r\n"))
            #expect(answer.body.contains("X-A: 1\r\n"))
            #expect(!answer.body.contains("Authorization"))
            #expect(!answer.body.contains("Cookie"))
            #expect(origin.connections.isEmpty)
        }
    }

    @Test(arguments: [
        ["Max-Forwards: -1"], ["Max-Forwards: 1, 2"], ["Max-Forwards: 1", "Max-Forwards: 1"],
    ])
    func `a count that is no number is 400`(fields: [String]) async throws {
        try await LastStopStory.story { proxy, origin in
            let answer = try await proxy.exchange(
                Raw.request("OPTIONS", "/orders/1", fields: fields)
            )
            #expect(answer.status == 400)
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `other methods do not know Max-Forwards`() async throws {
        try await LastStopStory.story { proxy, origin in
            let answer = try await proxy.exchange(Raw.get("/orders/1", "Max-Forwards: 0"))
            #expect(answer.body == "origin")
            #expect(origin.requests.first?["Max-Forwards"] == "0")
        }
    }

    @Test(arguments: [
        "auth: { bearer: 'literal:sesame' }", "headers: { secret: { X-Key: 'literal:sesame' } }",
        "proxy: { url: 'http://127.0.0.1:9', username: me, password: 'literal:sesame' }",
    ])
    func `TRACE shows nothing that is the channel's secret`(keys: String) async throws {
        try await LastStopStory.story(auth: ", \(keys)") {
            proxy,
            origin in
            let answer = try await proxy.exchange(Raw.request("TRACE", "/orders/1"))
            #expect(answer.status == 403)
            #expect(answer["Proxy-Status"] == "netproxy; error=http_request_denied")
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `OPTIONS for the whole server goes to the channel that Host names`() async throws {
        try await LastStopStory.story { proxy, origin in
            let answer = try await proxy.exchange(
                "OPTIONS * HTTP/1.1\r\nHost: orders.localhost\r\n\r\n"
            )
            #expect(answer.body == "origin")
            let authority = "127.0.0.1:\(origin.port)"
            let absolute = try await proxy.exchange(
                "OPTIONS http://\(authority) HTTP/1.1\r\nHost: \(authority)\r\n\r\n"
            )
            #expect(absolute.body == "origin")
            #expect(
                origin.requests.map(\.startLine)
                    == [String](repeating: "OPTIONS * HTTP/1.1", count: 2)
            )
        }
    }

    @Test func `OPTIONS for the whole server stays within the channel's base path`() async throws {
        try await LastStopStory.story(base: "/v1") { proxy, origin in
            let answer = try await proxy.exchange(
                "OPTIONS * HTTP/1.1\r\nHost: orders.localhost\r\n\r\n"
            )
            #expect(answer.status == 403)
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `OPTIONS for this server is answered here`() async throws {
        try await LastStopStory.story { proxy, origin in
            let answer = try await proxy.exchange("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(answer.status == 200)
            #expect(answer["Allow"]?.contains("GET") == true)
            #expect(origin.connections.isEmpty)
            let foreign = try await proxy.exchange(
                "OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n"
            )
            #expect(foreign.status == 421)
        }
    }

    @Test func `an upstream of HTTP 1-0 is called so in Via`() async throws {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send("HTTP/1.0 200 OK\r\n\r\nold")
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1", "Via: 1.0 fred"))
            #expect(answer["Via"]?.hasPrefix("1.0 netproxy-") == true)
            #expect(answer.body == "old")
            let vias = try #require(origin.requests.first).values("Via")
            #expect(vias.first == "1.0 fred")
            #expect(vias.last?.hasPrefix("1.1 netproxy-") == true)
        }
    }
}
