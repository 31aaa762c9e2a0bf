import TestSupport
import Testing

/// Clients and upstreams that disconnect unexpectedly.
@Suite struct DisconnectStory {
    @Test func `a client that resets right after its request is logged as 499`() async throws {
        let origin = try await OriginServer.start { wire in
            // If the reset precedes the forwarding, the origin reads nothing.
            _ = try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await RawClient.connect(to: proxy.port, sending: Raw.get("/orders/1"))
            try await app.reset()
            // Immediately, and not at the idle deadline or when the response is written.
            #expect(await proxy.hasLoggedExchange("orders"))
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.status == 499)
            #expect(facts.abortedBy == "client")
        }
    }

    @Test func `a client that resets during its upload is logged as 499`() async throws {
        let origin = try await OriginServer.start { wire in
            try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\none"
            )
            while origin.connections.isEmpty { await Task.yield() }
            try await app.send("two")
            try await app.reset()
            #expect(await proxy.hasLoggedExchange("orders"))
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.status == 499)
            #expect(facts.abortedBy == "client")
        }
    }

    @Test func `a client that disconnects during a stream ends the upstream exchange`() async throws
    {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
            try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            try await app.read(through: "one")
            try await app.close()
            try await origin.connections[0].closed.wait()
            let facts = try await proxy.onlyLine("orders").facts
            // The client received this part and did not wait for the rest.
            #expect(facts.status == 200)
            #expect(facts.abortedBy == "client")
            #expect(facts.bytesOut == 3)
        }
    }

    @Test func `an upstream that resets during its response cuts the response to the client`()
        async throws
    {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npart")
            try await wire.reset()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            let (text, end) = try await app.rest()
            #expect(end == .reset)
            #expect(!text.contains("HTTP/1.1 502"))
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.error == "http_response_incomplete")
            #expect(facts.abortedBy == "upstream")
        }
    }
}
