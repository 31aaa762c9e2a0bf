import TestSupport
import Testing

/// The forwarding limits of OPTIONS and TRACE.
@Suite struct MaxForwardsStory {
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
    func `each hop decrements Max-Forwards`(method: String) async throws {
        try await MaxForwardsStory.story { proxy, origin in
            let answer = try await proxy.exchange(
                Raw.request(method, "/orders/1", fields: ["Max-Forwards: 7"])
            )
            #expect(answer.body == "origin")
            #expect(origin.requests.first?["Max-Forwards"] == "6")
        }
    }

    @Test func `netproxy responds to OPTIONS when Max-Forwards is zero`() async throws {
        try await MaxForwardsStory.story { proxy, origin in
            let answer = try await proxy.exchange(
                Raw.request("OPTIONS", "/orders/1", fields: ["Max-Forwards: 0"])
            )
            #expect(answer.status == 200)
            #expect(answer["Content-Length"] == "0")
            #expect(answer["Allow"]?.contains("GET") == true)
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `netproxy responds to TRACE without secrets when Max-Forwards is zero`() async throws
    {
        try await MaxForwardsStory.story { proxy, origin in
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
    func `a Max-Forwards that is not a number is 400`(fields: [String]) async throws {
        try await MaxForwardsStory.story { proxy, origin in
            let answer = try await proxy.exchange(
                Raw.request("OPTIONS", "/orders/1", fields: fields)
            )
            #expect(answer.status == 400)
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `other methods ignore Max-Forwards`() async throws {
        try await MaxForwardsStory.story { proxy, origin in
            let answer = try await proxy.exchange(Raw.get("/orders/1", "Max-Forwards: 0"))
            #expect(answer.body == "origin")
            #expect(origin.requests.first?["Max-Forwards"] == "0")
        }
    }

    @Test(arguments: [
        "auth: { bearer: 'literal:sesame' }", "headers: { secret: { X-Key: 'literal:sesame' } }",
        "proxy: { url: 'http://127.0.0.1:9', username: me, password: 'literal:sesame' }",
    ])
    func `TRACE does not reveal a secret of the channel`(keys: String) async throws {
        try await MaxForwardsStory.story(auth: ", \(keys)") {
            proxy,
            origin in
            let answer = try await proxy.exchange(Raw.request("TRACE", "/orders/1"))
            #expect(answer.status == 403)
            #expect(answer["Proxy-Status"] == "netproxy; error=http_request_denied")
            for alias in ["TRACK", "trace", "Track", "tRaCe"] {
                let answer = try await proxy.exchange(Raw.request(alias, "/orders/1"))
                #expect(answer.status == 403, "\(alias)")
            }
            let last = try await proxy.exchange(
                Raw.request("TRACE", "/orders/1", fields: ["Max-Forwards: 0"])
            )
            #expect(last.status == 403)
            #expect(origin.connections.isEmpty)
        }
    }

    @Test(arguments: [
        ("/orders/1", "X-HTTP-Method-Override: TRACE"), ("/orders/1", "x_http_method: track"),
        ("/orders/1", "X-Method: GET\r\nX-Method-Override:  Trace"),
        ("/orders/1?_method=TRACE", "X: y"), ("/orders/1?a=b&.Method%5B%5D=tr%61ce", "X: y"),
        ("/orders/1?method=trace", "X: y"),
    ])
    func `a method override for TRACE does not reveal a secret`(target: String, field: String)
        async throws
    {
        for (auth, status) in [(", auth: { bearer: 'literal:sesame' }", 403), ("", 200)] {
            try await MaxForwardsStory.story(auth: auth) { proxy, origin in
                for method in ["POST", "GET"] {
                    let request = Raw.request(method, target, fields: [field])
                    #expect(try await proxy.exchange(request).status == status)
                }
                // Other uses of the fields and parameters still work.
                let other = try await proxy.exchange(
                    Raw.get("/orders/1?_method=PATCH&method=x", "X-HTTP-Method-Override: GET")
                )
                #expect(other.status == 200)
                #expect(origin.connections.isEmpty == false)
            }
        }
    }

    @Test func `OPTIONS * is sent to the channel that Host names`() async throws {
        try await MaxForwardsStory.story { proxy, origin in
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

    @Test func `OPTIONS * is refused for a channel with a base path`() async throws {
        try await MaxForwardsStory.story(base: "/v1") { proxy, origin in
            let answer = try await proxy.exchange(
                "OPTIONS * HTTP/1.1\r\nHost: orders.localhost\r\n\r\n"
            )
            #expect(answer.status == 403)
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `netproxy responds to OPTIONS * for itself`() async throws {
        try await MaxForwardsStory.story { proxy, origin in
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

    @Test func `Via contains the version of an HTTP 1-0 upstream`() async throws {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send("HTTP/1.0 200 OK\r\n\r\nold")
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port), headers: { via: on } }"
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
