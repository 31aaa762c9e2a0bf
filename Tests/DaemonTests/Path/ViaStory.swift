import TestSupport
import Testing

/// netproxy's own entry in `Via`, which it usually omits because many servers do not compress for a proxy.
@Suite struct ViaStory {
    /// Returns the values that the origin and the client received.
    private static func vias(
        _ headers: String,
        root: String = "",
        _ fields: String...
    ) async throws -> (request: [String], response: [String]) {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        var seen: (request: [String], response: [String]) = ([], [])
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port)\(headers) }",
            root: root
        ) { proxy in
            let answer = try await proxy.exchange(
                Raw.request("GET", "/orders/1", fields: fields)
            )
            seen = (try #require(origin.requests.first).values("Via"), answer.values("Via"))
        }
        return seen
    }

    @Test(arguments: ["", ", headers: { via: auto }", ", headers: { via: off }"])
    func `a request to another machine has no Via by default`(headers: String) async throws {
        let seen = try await Self.vias(headers)
        #expect(seen.request.isEmpty)
        #expect(seen.response.isEmpty)
    }

    @Test func `with via on both directions name the proxy`() async throws {
        let seen = try await Self.vias(", headers: { via: on }")
        #expect(seen.request.first?.hasPrefix("1.1 netproxy-") == true)
        #expect(seen.response == seen.request)
    }

    @Test func `the Via entries of earlier hops stay`() async throws {
        let seen = try await Self.vias("", "Via: 1.1 other")
        #expect(seen.request == ["1.1 other"])
    }

    @Test func `a loop of two proxies is detected`() async throws {
        try await DaemonHarness.run(channels: "orders: { upstream: 'http://127.0.0.1:9' }") { one in
            try await DaemonHarness.run(
                channels: "orders: { upstream: 'http://127.0.0.1:\(one.port)/orders' }"
            ) { other in
                _ = await one.reload(
                    channels: "orders: { upstream: 'http://127.0.0.1:\(other.port)/orders' }"
                )
                let answer = try await one.exchange(Raw.get("/orders/1"))
                #expect(answer.status == 508)
                let lines = try await one.log("orders").count + other.log("orders").count
                #expect(lines < 8)
            }
        }
    }

    @Test(arguments: [("0123456789abcde", 1), ("0123456789abcdu", 0), ("own-id", 0)])
    func `a request that another netproxy sent gets a Via`(id: String, count: Int) async throws {
        #expect(try await Self.vias("", "X-Request-Id: \(id)").request.count == count)
        #expect(try await Self.vias(", headers: { via: off }", "X-Request-Id: \(id)").request == [])
    }

    /// A reload can point a channel to the port on which the proxy already listens.
    @Test(arguments: ["127.0.0.1", "localhost"])
    func `a channel that points to this proxy is detected as a loop`(host: String) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let port = proxy.port
            _ = await proxy.reload(channels: "orders: { upstream: http://\(host):\(port)/orders }")
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 508)
            #expect(answer["Proxy-Status"] == "netproxy; error=proxy_loop_detected")
            // After a reload that points it elsewhere, the proxy is anonymous again.
            _ = await proxy.reload(
                channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
            )
            #expect(try await proxy.exchange(Raw.get("/orders/1")).values("Via").isEmpty)
        }
    }
}
