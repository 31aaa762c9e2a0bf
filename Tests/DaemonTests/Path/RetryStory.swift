import TestSupport
import Testing

@Suite struct RetryStory {
    /// Starts an origin whose first connection accepts a second request and closes without a response.
    ///
    /// It behaves like an origin whose idle timeout expires while the request is on its way.
    private func staleOrigin() async throws -> OriginServer {
        try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send(Raw.ok())
            while try await wire.next() != nil {
                if wire.number == 0 { return }
                try await wire.send(Raw.ok("again"))
            }
        }
    }

    @Test func `a GET on a stale connection is sent again on a new one`() async throws {
        let origin = try await staleOrigin()
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            for number in 1...2 {
                try await app.send(Raw.get("/orders/\(number)"))
                #expect(try await app.message().status == 200)
            }
            #expect(
                origin.requests.map(\.startLine)
                    == ["GET /1 HTTP/1.1", "GET /2 HTTP/1.1", "GET /2 HTTP/1.1"]
            )
            let lines = try await proxy.log("orders")
            let facts = try #require(lines.last).facts
            #expect(facts.attempts == 2)
            #expect(facts.retries == ["connection_terminated"])
        }
    }

    @Test func `a second attempt waits for a new connection, not for a used one`() async throws {
        let (leaving, answering) = (Gate(), Gate())
        // Each connection responds once, and closes after a second request without a response.
        let origin = try await OriginServer.start { wire in
            if try await wire.message().startLine.contains("/3") { try await answering.wait() }
            try await wire.send(Raw.ok())
            if try await wire.next() != nil, wire.number == 0 { try await leaving.wait() }
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  pool: { connections: 1, wait: 1h }
                """
        ) { proxy in
            let (app, other) = (try await proxy.connect(), try await proxy.connect())
            try await app.send(Raw.get("/orders/1"))
            #expect(try await app.message().status == 200)
            try await app.send(Raw.get("/orders/2"))
            #expect(await eventually { origin.requests.count == 2 })
            try await other.send(Raw.get("/orders/3"))
            #expect(await hasOneInQueue(proxy))
            leaving.open()
            #expect(await eventually { origin.requests.count == 3 })
            #expect(await hasOneInQueue(proxy))
            answering.open()
            #expect(try await other.message().status == 200)
            #expect(try await app.message().status == 200)
            #expect(
                origin.connections.map { $0.messages.map(\.startLine) } == [
                    ["GET /1 HTTP/1.1", "GET /2 HTTP/1.1"], ["GET /3 HTTP/1.1"],
                    ["GET /2 HTTP/1.1"],
                ]
            )
        }
    }

    private func hasOneInQueue(_ proxy: DaemonHarness) async -> Bool {
        await eventually {
            let status = try? await proxy.ask(Raw.get("/status"))
            return status?.body.contains(#""queued":1"#) == true
        }
    }

    @Test func `a POST on a stale connection is not sent again`() async throws {
        let origin = try await staleOrigin()
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            #expect(try await app.message().status == 200)
            try await app.send(Raw.post("/orders/2", body: "once"))
            let answer = try await app.message()
            #expect(answer.status == 502)
            #expect(answer["Proxy-Status"] == "netproxy; error=connection_terminated")
            #expect(origin.requests.filter { $0.startLine.hasPrefix("POST") }.count == 1)
        }
    }

    @Test func `a request is not retried after an upstream timeout`() async throws {
        let asked = Gate()
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send(Raw.ok())
            _ = try await wire.message()
            asked.open()
            try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  timeouts: { response: 60s }
                """
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            #expect(try await app.message().status == 200)
            try await app.send(Raw.get("/orders/2"))
            try await asked.wait()
            await proxy.advance(by: .seconds(61))
            #expect(try await app.message().status == 504)
            let facts = try #require(try await proxy.log("orders").last).facts
            #expect(facts.attempts == 1)
            #expect(facts.retries == nil)
        }
    }

    @Test func `a canceled request occupies no place in the queue`() async throws {
        let asked = Gate()
        let done = Gate()
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            asked.open()
            try await done.wait()
            try await wire.send(Raw.ok())
            _ = try await wire.next()
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  pool: { connections: 1, queue: 1, wait: 60s }
                  timeouts: { response: 1h, idle: 1h }
                """
        ) { proxy in
            let first = try await proxy.connect()
            try await first.send(Raw.get("/orders/1"))
            try await asked.wait()
            for number in 2...4 {
                let app = try await proxy.connect()
                try await app.send(Raw.get("/orders/\(number)"))
                #expect(await hasOneInQueue(proxy))
                await proxy.advance(by: .seconds(61))
                let answer = try await app.message()
                #expect(answer.status == 503)
                #expect(answer.body.contains("gave up after pool.wait (60s)"))
                #expect(answer.body.contains("no connection became free"))
            }
            done.open()
            #expect(try await first.message().status == 200)
        }
    }

    @Test func `a connection that the upstream closed while idle is not used`() async throws {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send(Raw.ok())
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  retry: { attempts: 0 }
                """
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            #expect(try await app.message().status == 200)
            try await origin.connections[0].closed.wait()
            // Another exchange ensures that the loop has seen the close.
            let other = try await proxy.exchange(Raw.get("/nobody"))
            #expect(other.status == 404)
            try await app.send(Raw.get("/orders/2"))
            #expect(try await app.message().status == 200)
        }
    }

    @Test func `a 503 is retried, and the client gets the last response`() async throws {
        let origin = try await OriginServer.start { _ in Raw.response("503 Busy", body: "busy") }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  retry: { attempts: 2, backoff: { base: 1ms, max: 2ms } }
                """
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 503)
            #expect(answer.body == "busy")
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.attempts == 3)
            #expect(facts.retries == ["status_503", "status_503"])
        }
    }

    @Test func `a POST is not repeated after a 503`() async throws {
        let origin = try await OriginServer.start { _ in Raw.response("503 Busy") }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let answer = try await proxy.exchange(Raw.post("/orders/1", body: "x"))
            #expect(answer.status == 503)
            #expect(origin.requests.count == 1)
        }
    }
}
