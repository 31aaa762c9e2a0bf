import TestSupport
import Testing

/// Slow clients, with clocks that the stories advance.
@Suite struct SlowClientStory {
    /// The default limits; other stories have no limits.
    private static let limits = "limits: {}"
    private static let bodyRate = 240

    private static func channel(_ origin: OriginServer) -> String {
        "orders: { upstream: http://127.0.0.1:\(origin.port) }"
    }

    /// Runs a daemon with an origin that responds to every request.
    private static func run(
        root: String = limits,
        _ story: (DaemonHarness, OriginServer) async throws -> Void
    ) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(channels: channel(origin), root: root, bodyRate: bodyRate) {
            proxy in
            try await story(proxy, origin)
        }
    }

    @Test func `a head that exceeds its timeout is 408`() async throws {
        try await SlowClientStory.run { proxy, origin in
            let app = try await proxy.connect()
            // The response to the first request shows that the beginning of the second has arrived.
            try await app.send(Raw.get("/orders/1") + "GET /orders/2 HTTP/1.1\r\nHost: loc")
            #expect(try await app.message().status == 200)
            await proxy.advance(by: .seconds(11))
            let answer = try await app.message()
            #expect(answer.status == 408)
            #expect(answer["Proxy-Status"] == "netproxy; error=request_head_timeout")
            #expect(answer["Connection"] == "close")
            #expect(origin.requests.count == 1)
            #expect(try await proxy.log("netproxy").map(\.facts.error) == ["request_head_timeout"])
        }
    }

    @Test func `a byte just before the deadline of a head does not extend it`() async throws {
        try await SlowClientStory.run { proxy, _ in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1") + "GET /orders/2 HTTP/1.1\r\nHost: loc")
            #expect(try await app.message().status == 200)
            await proxy.advance(by: .milliseconds(9900))
            try await app.send("a")
            // After a later exchange, the byte has been read.
            #expect(try await proxy.exchange(Raw.get("/orders/3")).status == 200)
            await proxy.advance(by: .milliseconds(200))
            #expect(try await app.message().status == 408)
        }
    }

    @Test func `an empty line after the content does not begin a head`() async throws {
        try await SlowClientStory.run { proxy, _ in
            let app = try await proxy.connect()
            let post = "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nab"
            try await app.send("\(post)\r\n")
            #expect(try await app.message().status == 200)
            await proxy.advance(by: .seconds(60))
            try await app.send("\(post)\r\n")
            #expect(try await app.message().status == 200)
            // A head after such a line has the usual timeout.
            try await app.send("GET /orders/2 HTTP/1.1\r\nHost: loc")
            let other = try await proxy.exchange(Raw.get("/orders/3"))
            #expect(other.status == 200)
            await proxy.advance(by: .seconds(11))
            #expect(try await app.message().status == 408)
            let idle = try await proxy.connect()
            try await idle.send("\(post)\r\n")
            #expect(try await idle.message().status == 200)
            await proxy.stop()
            #expect(try await idle.rest().text.isEmpty)
            #expect(try await proxy.log("netproxy").map(\.facts.error) == ["request_head_timeout"])
        }
    }

    @Test func `an idle connection is closed without a response`() async throws {
        try await SlowClientStory.run { proxy, _ in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            #expect(try await app.message().status == 200)
            await proxy.advance(by: .seconds(76))
            let (text, end) = try await app.rest()
            #expect(text.isEmpty)
            #expect(end == .closed)
            #expect(try await proxy.log("netproxy").isEmpty)
        }
    }

    /// Runs `story` during an upload whose first part has arrived upstream.
    private static func upload(
        _ story: (DaemonHarness, Wire, _ more: Gate) async throws -> Void
    ) async throws {
        let (begun, more) = (Gate(), Gate())
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "part")
            begun.open()
            try await wire.read(through: "more")
            more.open()
            try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: SlowClientStory.channel(origin),
            root: SlowClientStory.limits,
            bodyRate: SlowClientStory.bodyRate
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\npart"
            )
            try await begun.wait()
            try await story(proxy, app, more)
            try await origin.connections[0].closed.wait()
        }
    }

    @Test func `content below the minimum rate is 408`() async throws {
        try await SlowClientStory.upload { proxy, app, _ in
            // 5 s of grace, plus the time for four bytes at 240 bytes per second.
            await proxy.advance(by: .seconds(6))
            let answer = try await app.message()
            #expect(answer.status == 408)
            #expect(answer["Proxy-Status"] == "netproxy; error=request_body_timeout")
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.error == "request_body_timeout")
            #expect(facts.bytesIn == 4)
        }
    }

    @Test func `each request has its own grace period`() async throws {
        let arrived = [Gate(), Gate()]
        let origin = try await OriginServer.start { wire in
            for gate in arrived {
                try await wire.read(through: "part")
                gate.open()
                try await wire.read(through: "rest")
                try await wire.send(Raw.ok())
            }
        }
        try await DaemonHarness.run(
            channels: SlowClientStory.channel(origin),
            root: SlowClientStory.limits,
            bodyRate: SlowClientStory.bodyRate
        ) { proxy in
            let app = try await proxy.connect()
            for gate in arrived {
                try await app.send(
                    "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\n\r\npart"
                )
                try await gate.wait()
                // More than the 5 s of grace in total.
                await proxy.advance(by: .seconds(3))
                try await app.send("rest")
                #expect(try await app.message().status == 200)
            }
        }
    }

    @Test func `a slow upstream does not count against the client's rate`() async throws {
        let (asked, goOn) = (Gate(), Gate())
        let origin = try await OriginServer.start { wire in
            let request = try await wire.message()
            asked.open()
            try await goOn.wait()
            try await wire.send(Raw.ok(request.body))
            _ = try await wire.next()
        }
        try await DaemonHarness.run(
            channels: SlowClientStory.channel(origin),
            root: SlowClientStory.limits,
            bodyRate: SlowClientStory.bodyRate
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.post("/orders/1", body: "all of it"))
            try await asked.wait()
            await proxy.advance(by: .seconds(50))
            goOn.open()
            #expect(try await app.message().body == "all of it")
        }
    }

    @Test func `a thousand slow clients do not delay an honest one`() async throws {
        try await SlowClientStory.run { proxy, _ in
            let slow = try await withThrowingTaskGroup(of: Wire.self) { group in
                for _ in 0..<1000 {
                    group.addTask {
                        try await RawClient.connect(to: proxy.port, sending: "GET /orders/1 H")
                    }
                }
                return try await group.reduce(into: [Wire]()) { $0.append($1) }
            }
            let honest = try await proxy.connect()
            let start = ContinuousClock.now
            for _ in 0..<50 {
                try await honest.send(Raw.get("/orders/1"))
                #expect(try await honest.message().status == 200)
            }
            // Limited by the test, not by the timeouts of the slow clients.
            #expect(start.duration(to: .now) < .seconds(60))
            await proxy.advance(by: .seconds(11))
            for app in slow { #expect(try await app.rest().text.hasPrefix("HTTP/1.1 408 ")) }
        }
    }

    @Test func `connections beyond the limit are reset`() async throws {
        try await SlowClientStory.run(root: "limits: { connections: 2 }") { proxy, _ in
            let apps = try await [proxy.connect(), proxy.connect()]
            for app in apps {
                try await app.send(Raw.get("/orders/1"))
                #expect(try await app.message().status == 200)
            }
            do {
                #expect(try await proxy.connect().rest().end == .reset)
            } catch WireError.timedOut {
                throw WireError.timedOut
            } catch {
                // The reset can arrive before the handshake has finished.
            }
            let metrics = try await proxy.ask(Raw.get("/metrics")).body
            #expect(metrics.contains("\nnetproxy_connections_refused_total 1\n"))
            try await apps[0].send(Raw.get("/orders/1"))
            #expect(try await apps[0].message().status == 200)
        }
    }
}
