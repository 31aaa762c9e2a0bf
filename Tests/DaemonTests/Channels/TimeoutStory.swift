import TestSupport
import Testing

/// The messages for clients and operators about an expired timeout: its key and its value.
@Suite struct TimeoutStory {
    @Test func `the error for a missing response head names timeouts-response`() async throws {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.next()
            try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: """
                orders: { upstream: http://127.0.0.1:\(origin.port), timeouts: { response: 90s } }
                """
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.post("/orders/1", body: "x"))
            try await #require(eventually { origin.requests.count == 1 })
            await proxy.advance(by: .seconds(91))
            let answer = try await app.message()
            #expect(answer.status == 504)
            #expect(answer.body.contains("netproxy gave up after timeouts.response (90s)"))
            #expect(origin.requests.count == 1)
        }
    }

    @Test func `a response after nine minutes arrives`() async throws {
        let ready = Gate()
        let origin = try await OriginServer.start { wire in
            _ = try await wire.next()
            try await ready.wait()
            try await wire.send(Raw.ok("at last"))
            try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.post("/orders/1", body: "x"))
            try await #require(eventually { origin.requests.count == 1 })
            await proxy.advance(by: .seconds(540))
            ready.open()
            #expect(try await app.message().body == "at last")
        }
    }

    @Test func `the log line of a stalled stream names timeouts-idle`() async throws {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.next()
            try await wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
            try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: """
                orders: { upstream: http://127.0.0.1:\(origin.port), timeouts: { idle: 3m } }
                """
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            try await app.read(through: "one\r\n")
            await proxy.advance(by: .seconds(181))
            #expect(try await app.rest().end == .reset)
            let line = try await proxy.onlyLine("orders")
            #expect(line.facts.error == "connection_read_timeout")
            #expect(line.facts.abortedBy == "proxy")
            #expect(line.text.contains("netproxy gave up after timeouts.idle (3m)"))
        }
    }

    @Test func `the error for an exchange beyond its total timeout names timeouts-total`()
        async throws
    {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.next()
            try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: """
                orders: { upstream: 'http://127.0.0.1:\(origin.port)', timeouts: { total: 1h } }
                """
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            try await #require(eventually { origin.requests.count == 1 })
            await proxy.advance(by: .seconds(3601))
            let answer = try await app.message()
            #expect(answer.status == 504)
            #expect(answer.body.contains("netproxy gave up after timeouts.total (1h)"))
        }
    }

    @Test func `the error for a connection that is not established names timeouts-connect`()
        async throws
    {
        let silent = try await SilentPort()
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://\(silent.address)
                  timeouts: { connect: 1500ms }
                  retry: { attempts: 0 }
                """
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            await proxy.advance(by: .seconds(1))
            await proxy.advance(by: .seconds(1))
            let answer = try await app.message()
            #expect(answer.status == 504)
            #expect(answer.body.contains("netproxy gave up after timeouts.connect (1500ms)"))
        }
    }

    @Test func `the error for a stalled request head names limits-head_timeout`() async throws {
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:1 }",
            root: "limits: { head_timeout: 20s }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send("GET /orders/1 HTTP/1.1\r\nHost: ")
            // The first bytes must be read before the timeout begins.
            try await app.send("local")
            var answer: RawMessage?
            let asked = Task { try await app.message() }
            for _ in 1...50 where answer == nil {
                await proxy.advance(by: .seconds(21))
                guard try await !proxy.log("netproxy").isEmpty else { continue }
                answer = try await asked.value
            }
            #expect(answer?.status == 408)
            #expect(answer?.body.contains("limits.head_timeout (20s)") == true)
        }
    }

    @Test func `a WebSocket is not cut after a silent minute`() async throws {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.next()
            try await wire.send(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n"
            )
            try await wire.read(through: "ping")
            try await wire.send("pong")
            try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1", "Connection: Upgrade", "Upgrade: chat"))
            try await app.read(through: "\r\n\r\n")
            await proxy.advance(by: .seconds(590))
            try await app.send("ping")
            try await app.read(through: "pong")
            await proxy.advance(by: .seconds(601))
            #expect(await proxy.hasLoggedExchange("orders"))
            let line = try #require(try await proxy.log("orders").last)
            #expect(line.text.contains("netproxy gave up after timeouts.idle (10m)"))
        }
    }
}
