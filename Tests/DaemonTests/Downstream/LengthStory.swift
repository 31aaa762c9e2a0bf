import TestSupport
import Testing

/// Content whose length the client does not announce.
@Suite struct LengthStory {
    /// Starts an origin that refuses every request without a length, like many small servers.
    private static func strict() async throws -> OriginServer {
        try await OriginServer.start { request in
            request["Transfer-Encoding"] == nil
                ? Raw.ok("\(request["Content-Length"] ?? "none") \(request.body)")
                : Raw.response("411 Length Required", body: "length!")
        }
    }

    private static func head(_ method: String) -> String {
        Raw.request(method, "/orders/1", fields: ["Transfer-Encoding: chunked"])
    }

    @Test(arguments: [
        ("POST", "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n", "6 onetwo"), ("POST", "0\r\n\r\n", "0 "),
        ("GET", "0\r\n\r\n", "none "), ("DELETE", "1\r\nx\r\n0\r\nX-Late: 1\r\n\r\n", "1 x"),
    ])
    func `content that has arrived completely is sent with its length`(
        method: String,
        content: String,
        seen: String
    ) async throws {
        let origin = try await Self.strict()
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Self.head(method))
            // In a packet of its own, as most clients send it.
            try await app.send(content)
            #expect(try await app.message().body == seen)
            #expect(origin.requests.count == 1)
            // The connection continues.
            try await app.send(Raw.get("/orders/2"))
            #expect(try await app.message().status == 200)
        }
    }

    @Test(arguments: ["", ", auth: { bearer: 'literal:t' }", ", retry: { attempts: 0 }"])
    func `content that arrives late is sent again with its length after a 411`(
        options: String
    ) async throws {
        let origin = try await Self.strict()
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port)\(options) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Self.head("POST") + "3\r\none\r\n")
            // The head was sent without waiting for the rest.
            try await #require(eventually { origin.connections.count == 1 })
            try await app.send("3\r\ntwo\r\n0\r\n\r\n")
            let answer = try await app.message()
            #expect(answer.status == 200)
            #expect(answer.body == "6 onetwo")
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.attempts == 2)
            #expect(facts.retries == ["status_411"])
            #expect(facts.bytesIn == 6)
        }
    }

    @Test func `a 411 is returned if the content is too long to keep`() async throws {
        let origin = try await Self.strict()
        try await DaemonHarness.run(
            channels: """
                orders: { upstream: 'http://127.0.0.1:\(origin.port)', retry: { replay_body: 4KiB } }
                """
        ) { proxy in
            let piece = String(repeating: "x", count: 4096)
            let pieces = String(repeating: "1000\r\n\(piece)\r\n", count: 20)
            let answer = try await proxy.exchange(Self.head("POST") + pieces + "0\r\n\r\n")
            #expect(answer.status == 411)
            #expect(answer.body == "length!")
        }
    }

    @Test func `malformed chunks are refused before anything is sent`() async throws {
        let origin = try await Self.strict()
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let answer = try await proxy.exchange(Self.head("POST") + "nonsense\r\n")
            #expect(answer.status == 400)
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `slow content does not occupy all connections`() async throws {
        let origin = try await OriginServer.start { wire in
            while let request = try await wire.next() {
                try await wire.send(Raw.ok(request.startLine))
            }
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  pool: { connections: 4, wait: 1h }
                """,
            root: "workers: 1"
        ) { proxy in
            var slow: [Wire] = []
            for _ in 1...4 {
                let app = try await proxy.connect()
                try await app.send(
                    Raw.request("POST", "/orders/slow", fields: ["Content-Length: 1000"]) + "x"
                )
                slow.append(app)
            }
            // Three requests have a connection, and the fourth waits.
            try await #require(eventually { origin.connections.count == 3 })
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            let posted = try await proxy.exchange(Raw.post("/orders/2", body: "whole"))
            #expect(posted.body == "POST /2 HTTP/1.1")
            // When a request is complete, the next one gets its connection.
            try await slow[0].send(String(repeating: "x", count: 999))
            #expect(try await slow[0].message().status == 200)
            try await slow[3].send(String(repeating: "x", count: 999))
            #expect(try await slow[3].message().status == 200)
            for app in slow { try await app.close() }
        }
    }
}
