import FoundationEssentials
import NetproxyEventIO
import TestSupport
import Testing

@Suite struct LifeStory {
    /// Stops the daemon during an exchange that the origin does not end.
    ///
    /// The stop begins when `answer`, which the origin sends immediately, has reached the client. Without
    /// `answer`, it begins when the request has reached the origin.
    private func stopAmid(
        _ request: String,
        answer: String = "",
        _ story: (_ text: String, _ end: Wire.End, LogLine.Facts) throws -> Void
    ) async throws {
        let asked = Gate()
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "\r\n\r\n")
            try await wire.send(answer)
            asked.open()
            try await wire.rest()
        }
        // Waits for a drain of 200 ms.
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }",
            root: "drain: 200ms"
        ) { proxy async throws in
            let app = try await proxy.connect()
            try await app.send(request)
            try await asked.wait()
            if !answer.isEmpty { try await app.read(through: "hello") }
            await proxy.stop()
            let (text, end) = try await app.rest()
            try story(text, end, try await proxy.onlyLine("orders").facts)
        }
    }

    @Test(arguments: [
        Raw.get("/orders/1"),
        "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\npart",
    ])
    func `an exchange that outlasts the drain is 504 and logged as cut by the proxy`(
        request: String
    ) async throws {
        try await stopAmid(request) { text, _, facts in
            #expect(text.hasPrefix("HTTP/1.1 504 "))
            #expect(text.contains("the drain period ended before the upstream answered"))
            #expect(facts.status == 504)
            #expect(facts.error == "http_response_timeout")
        }
    }

    @Test func `a response that outlasts the drain is cut and logged as cut by the proxy`()
        async throws
    {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"
        try await stopAmid(Raw.get("/orders/1"), answer: answer) { _, end, facts in
            #expect(end == .reset)
            #expect(facts.status == 200)
            #expect(facts.error == "http_response_timeout")
            #expect(facts.abortedBy == "proxy")
        }
    }

    @Test func `a stop lets a running exchange finish`() async throws {
        let asked = Gate()
        let stopping = Gate()
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            asked.open()
            try await stopping.wait()
            try await wire.send(Raw.ok("last words"))
            _ = try await wire.next()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }",
            root: "limits: { head_timeout: 60s }"
        ) { proxy in
            let (app, idle) = try await (proxy.connect(), proxy.connect())
            try await idle.send(Raw.get("/nowhere"))
            #expect(try await idle.message().status == 404)
            try await app.send(Raw.get("/orders/1"))
            try await asked.wait()
            async let stopped: Void = proxy.stop()
            // A connection without an exchange ends when the drain begins.
            #expect(try await idle.rest().end == .closed)
            let readiness = try await proxy.ask(Raw.get("/readyz"))
            #expect(readiness.status == 503)
            #expect(readiness.body == "draining\n")
            // The status must not be 422, a configuration error, for which the command would exit with 78.
            let reload = try await proxy.ask(Raw.post("/reload", body: "", "Netproxy-Admin: 1"))
            #expect(reload.status == 503)
            #expect(reload.body.hasPrefix("the daemon is stopping\n"))
            stopping.open()
            let answer = try await app.message()
            #expect(answer.body == "last words")
            #expect(answer["Connection"] == "close")
            await stopped
            #expect(try await proxy.onlyLine("orders").facts.status == 200)
        }
    }

    /// Starts an authorization server that responds to one request when the gate opens.
    private static func tokenServer(_ asked: Gate, answering: Gate) async throws -> OriginServer {
        try await OriginServer.start { wire in
            _ = try await wire.message()
            asked.open()
            try await answering.wait()
            try await wire.send(
                Raw.ok(
                    #"{"access_token":"a","token_type":"Bearer","refresh_token":"c4nary-next"}"#,
                    "Content-Type: application/json"
                )
            )
            _ = try await wire.next()
        }
    }

    @Test(arguments: [
        nil, "others: { upstream: 'http://127.0.0.1:9' }",
        "orders: { upstream: 'http://127.0.0.1:9', auth: { bearer: literal:x } }",
    ])
    func `a stop lets a renewal finish, because its refresh token would be lost`(
        behindReload channels: String?
    ) async throws {
        let (asked, stopping) = (Gate(), Gate())
        let tokens = try await LifeStory.tokenServer(asked, answering: stopping)
        let url = "http://127.0.0.1:\(tokens.port)"
        let grant = "grant: refresh_token, refresh_token: literal:first, client_auth: none"
        try await DaemonHarness.run(
            channels: """
                orders: { upstream: '\(url)', auth: { oauth: { token_url: '\(url)/token', \
                client_id: orders, \(grant) } } }
                """
        ) { proxy in
            // A client that does not wait for the response: no request waits for the renewal.
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            try await asked.wait()
            try await app.close()
            if let channels { await proxy.reload(channels: channels) }
            async let stopped: Void = proxy.stop()
            #expect(await proxy.tells("waiting for renewals of tokens"))
            stopping.open()
            await stopped
            let file = try String(
                contentsOf: URL(filePath: "\(proxy.directory)/state/orders.json"),
                encoding: .utf8
            )
            #expect(file.contains("c4nary-next"))
        }
    }

    @Test func `a stop lets a renewal finish even if an endless response used up the drain`()
        async throws
    {
        let (asked, stopping) = (Gate(), Gate())
        let tokens = try await LifeStory.tokenServer(asked, answering: stopping)
        let endless = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")
            try await wire.rest()
        }
        let url = "http://127.0.0.1:\(tokens.port)"
        let grant = "grant: refresh_token, refresh_token: literal:first, client_auth: none"
        // Waits for a drain of 200 ms.
        try await DaemonHarness.run(
            channels: """
                events: { upstream: 'http://127.0.0.1:\(endless.port)' }
                orders: { upstream: '\(url)', auth: { oauth: { token_url: '\(url)/token', \
                client_id: orders, \(grant) } } }
                """,
            root: "drain: 200ms"
        ) { proxy in
            let (stream, app) = try await (proxy.connect(), proxy.connect())
            try await stream.send(Raw.get("/events/1"))
            try await stream.read(through: "hello")
            try await app.send(Raw.get("/orders/1"))
            try await asked.wait()
            try await app.close()
            async let stopped: Void = proxy.stop()
            // The drain has ended.
            #expect(try await stream.rest().end == .reset)
            #expect(await proxy.tells("waiting for renewals of tokens"))
            // The daemon waits only as long as the response can arrive.
            for _ in 0..<50 {
                let readiness = try await proxy.ask(Raw.get("/readyz"))
                #expect(readiness.body == "draining\n")
            }
            stopping.open()
            await stopped
            let file = try String(
                contentsOf: URL(filePath: "\(proxy.directory)/state/orders.json"),
                encoding: .utf8
            )
            #expect(file.contains("c4nary-next"))
        }
    }

    @Test func `a stop reports its maximum duration to the service manager`() async throws {
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:9 }",
            root: "drain: 20s"
        ) { proxy in
            await proxy.stop()
            // The drain, a renewal and a margin.
            let message = await proxy.message(with: "STOPPING=1")
            #expect(message.contains("EXTEND_TIMEOUT_USEC=40000000"))
        }
    }

    @Test func `a stop immediately refuses connections and reloads`() async throws {
        let (asked, stopping) = (Gate(), Gate())
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            asked.open()
            try await stopping.wait()
            try await wire.send(Raw.ok())
        }
        let channels = "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        try await DaemonHarness.run(
            channels: channels,
            root: "limits: { head_timeout: 60s }"
        ) { proxy in
            await proxy.reload(
                channels: channels,
                root: "listen: ['127.0.0.1:0', 'unix:\(proxy.directory)/s']"
            )
            let (app, idle) = try await (proxy.connect(), proxy.connect())
            try await idle.send(Raw.get("/nowhere"))
            #expect(try await idle.message().status == 404)
            try await app.send(Raw.get("/orders/1"))
            try await asked.wait()
            async let stopped: Void = proxy.stop()
            #expect(try await idle.rest().end == .closed)
            // The last reference to a socket can belong to a loop.
            #expect(await eventually { (try? await proxy.connect()) == nil })
            let path = "\(proxy.directory)/s"
            #expect(await eventually { !FileManager.default.fileExists(atPath: path) })
            await proxy.reload(channels: channels)
            #expect(proxy.reports.contains("the daemon is stopping"))
            #expect(await proxy.ports.isEmpty)
            stopping.open()
            #expect(try await app.message().status == 200)
            await stopped
        }
    }

    @Test func `a stop does not wait beyond the drain`() async throws {
        let asked = Gate()
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            asked.open()
            try await wire.rest()
        }
        // Waits for a timeout of 50 ms.
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }",
            root: "drain: 50ms"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            try await asked.wait()
            let started = ContinuousClock.now
            await proxy.stop()
            #expect(started.duration(to: .now) < .seconds(30))
        }
    }

    @Test func `an invalid configuration is reported, and the old one stays active`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let channels = "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        try await DaemonHarness.run(channels: channels) { proxy in
            await proxy.reload(channels: "orders: { upsteram: http://127.0.0.1:1 }")
            #expect(proxy.reports.contains { $0.contains("upsteram") })
            #expect(proxy.reports.contains { $0.contains("the old one stays") })
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 200)
        }
    }

    @Test func `a reload activates new channels on open connections`() async throws {
        let (old, new) = try await (
            OriginServer.start { _ in Raw.ok("old") }, OriginServer.start { _ in Raw.ok("new") }
        )
        try await DaemonHarness.run(channels: "orders: { upstream: http://127.0.0.1:\(old.port) }")
        {
            proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            #expect(try await app.message().body == "old")
            await proxy.reload(channels: "orders: { upstream: http://127.0.0.1:\(new.port) }")
            try await app.send(Raw.get("/orders/2"))
            #expect(try await app.message().body == "new")
        }
    }
}
