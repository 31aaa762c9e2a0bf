import FoundationEssentials
import NetproxyEventIO
import TestSupport
import Testing

@Suite struct LifeStory {
    /// Stops with an exchange under way, which the origin does not end.
    ///
    /// The stop begins when `answer`, which the origin sends at once, has reached the app, or when the
    /// request has reached the origin if there is none.
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
    func `an exchange that outlasts the drain is 504, and told as cut here`(
        request: String
    ) async throws {
        try await stopAmid(request) { text, _, facts in
            #expect(text.hasPrefix("HTTP/1.1 504 "))
            #expect(text.contains("the drain period ended before the upstream answered"))
            #expect(facts.status == 504)
            #expect(facts.error == "http_response_timeout")
        }
    }

    @Test func `an answer that outlasts the drain is cut, and told as cut here`() async throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"
        try await stopAmid(Raw.get("/orders/1"), answer: answer) { _, end, facts in
            #expect(end == .reset)
            #expect(facts.status == 200)
            #expect(facts.error == "http_response_timeout")
            #expect(facts.abortedBy == "proxy")
        }
    }

    @Test func `a stop lets an open exchange end`() async throws {
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
            // The connection without an exchange ends as soon as the drain has begun.
            #expect(try await idle.rest().end == .closed)
            let readiness = try await proxy.ask(Raw.get("/readyz"))
            #expect(readiness.status == 503)
            #expect(readiness.body == "draining\n")
            // No fault of the configuration's (422), which the command would end with 78 for.
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

    /// An authorization server that answers one request, when it is let.
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
    func `a stop lets a renewal end, whose refresh token would be lost`(
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
            // An app that does not stay for the answer: nobody waits for the renewal.
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

    @Test func `a stop lets a renewal end though an endless answer used the drain up`() async throws
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
            // The drain is over.
            #expect(try await stream.rest().end == .reset)
            #expect(await proxy.tells("waiting for renewals of tokens"))
            // The daemon stays as long as the answer may come; one that does not is soon gone.
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

    @Test func `a stop tells the service manager how long it may take`() async throws {
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:9 }",
            root: "drain: 20s"
        ) { proxy in
            await proxy.stop()
            // The drain, a renewal, and a little for the rest.
            let message = await proxy.message(with: "STOPPING=1")
            #expect(message.contains("EXTEND_TIMEOUT_USEC=40000000"))
        }
    }

    @Test func `a stop refuses connections at once, and every reload`() async throws {
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
            // The last who refers to a socket may be a loop.
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

    @Test func `a bad configuration is reported, and the old one stays`() async throws {
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

    @Test func `a reload puts new channels in force on open connections`() async throws {
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
