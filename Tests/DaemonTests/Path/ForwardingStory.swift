import TestSupport
import Testing

@Suite struct ForwardingStory {
    @Test func `a path prefix selects the channel's upstream and its base path`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok("fine") }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port)/v1 }"
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/42?x=1&y=%2F"))
            #expect(answer.startLine == "HTTP/1.1 200 OK")
            #expect(answer.body == "fine")
            #expect(origin.requests.map(\.startLine) == ["GET /v1/42?x=1&y=%2F HTTP/1.1"])
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.status == 200)
            #expect(facts.channel == "orders")
            #expect(facts.bytesOut == 4)
            #expect(facts.attempts == 1)
        }
    }

    @Test func `a channel's own host needs no prefix`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port)/v1 }"
        ) { proxy in
            let answer = try await proxy.exchange(
                "GET /42 HTTP/1.1\r\nHost: orders.localhost:8080\r\n\r\n"
            )
            #expect(answer.status == 200)
            #expect(origin.requests.map(\.startLine) == ["GET /v1/42 HTTP/1.1"])
        }
    }

    @Test func `an absolute target is matched by its authority and keeps its path`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port)/v1 }"
        ) { proxy in
            let authority = "127.0.0.1:\(origin.port)"
            let answer = try await proxy.exchange(
                "GET http://\(authority)/v1/42 HTTP/1.1\r\nHost: \(authority)\r\n\r\n"
            )
            #expect(answer.status == 200)
            #expect(origin.requests.map(\.startLine) == ["GET /v1/42 HTTP/1.1"])
        }
    }

    @Test func `header rules add defaults, replace set fields and remove fields`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  headers:
                    default: { User-Agent: orders-app/1.2, Accept-Language: en }
                    set: { X-Client: netproxy }
                    remove: [X-Debug]
                """
        ) { proxy in
            _ = try await proxy.exchange(
                Raw.get("/orders/", "Accept-Language: fr", "X-Client: me", "X-Debug: 1")
            )
            let request = try #require(origin.requests.first)
            #expect(request["User-Agent"] == "orders-app/1.2")
            #expect(request["Accept-Language"] == "fr")
            #expect(request["X-Client"] == "netproxy")
            #expect(request.values("X-Debug").isEmpty)
        }
    }

    @Test func `the upstream receives its own Host, Via and a request id`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port), headers: { via: on } }"
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            let request = try #require(origin.requests.first)
            #expect(request["Host"] == "127.0.0.1:\(origin.port)")
            #expect(request["Via"]?.hasPrefix("1.1 netproxy-") == true)
            #expect(answer["Via"] == request["Via"])
            let id = try #require(request["X-Request-Id"])
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.requestID == id)
        }
    }

    @Test func `a client's own request id is forwarded and logged next to netproxy's`() async throws
    {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/1", "X-Request-Id: mine"))
            #expect(origin.requests.first?["X-Request-Id"] == "mine")
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.clientRequestID == "mine")
            #expect(facts.requestID?.isEmpty == false)
            #expect(facts.requestID != "mine")
        }
    }

    @Test(arguments: ["", "Bearer c4nary", String(repeating: "x", count: 129)])
    func `a request id that is not an identifier is forwarded but not logged`(
        _ id: String
    ) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/1", "X-Request-Id: \(id)"))
            #expect(origin.requests.first?.values("X-Request-Id") == [id])
            let line = try await proxy.onlyLine("orders")
            #expect(line.facts.requestID?.isEmpty == false)
            #expect(line.facts.requestID != id)
            #expect(line.facts.clientRequestID == nil)
            #expect(!line.text.contains("c4nary"))
        }
    }

    @Test func `the proxy removes hop-by-hop fields and the fields that Connection nominates`()
        async throws
    {
        let origin = try await OriginServer.start { _ in
            Raw.ok("x", "Connection: X-Private", "X-Private: 1", "Keep-Alive: timeout=5")
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let answer = try await proxy.exchange(
                Raw.get("/orders/1", "Connection: X-Mine", "X-Mine: 1", "Proxy-Connection: a")
            )
            let request = try #require(origin.requests.first)
            #expect(request.values("X-Mine").isEmpty)
            #expect(request.values("Proxy-Connection").isEmpty)
            #expect(answer.values("X-Private").isEmpty)
            // netproxy's own field for this connection.
            #expect(answer.values("Keep-Alive") == ["timeout=70"])
        }
    }
}
