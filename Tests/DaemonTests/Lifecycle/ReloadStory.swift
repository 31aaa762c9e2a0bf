import FoundationEssentials
import NetproxyService
import OriginTransport
import TestSupport
import Testing

@Suite struct ReloadStory {
    /// Starts an origin that returns the received credential.
    private func origin() async throws -> OriginServer {
        try await OriginServer.start { wire in
            while let request = try await wire.next() {
                try await wire.send(Raw.ok(request["Authorization"] ?? "none"))
            }
        }
    }

    private func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
    }

    @Test func `a changed secret takes effect with a reload`() async throws {
        let origin = try await origin()
        let path = FileManager.default.temporaryDirectory
            .appending(path: "reload-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try write("first\n", to: path)
        let channels = """
            orders: { upstream: "http://127.0.0.1:\(origin.port)", auth: { bearer: "file:\(path)" } }
            bills: { upstream: "http://127.0.0.1:\(origin.port)" }
            """
        try await DaemonHarness.run(channels: channels) { proxy async throws in
            #expect(try await proxy.exchange(Raw.get("/orders/1")).body == "Bearer first")
            #expect(try await proxy.plan() == ["nothing would change: story.yaml"])
            try write("second\n", to: path)
            let secret = "  channels.orders.auth.bearer: changed"
            #expect(try await proxy.plan() == ["changed: orders", secret])
            #expect(try await proxy.exchange(Raw.get("/orders/1")).body == "Bearer first")
            await proxy.reload(channels: channels)
            #expect(try await proxy.exchange(Raw.get("/orders/1")).body == "Bearer second")
            try FileManager.default.removeItem(atPath: path)
            await proxy.reload(channels: channels)
            #expect(proxy.reports.contains { $0.contains("the old one stays in force") })
            #expect(proxy.reports.contains { $0.contains(": cannot read \(path)") })
            #expect(try await proxy.exchange(Raw.get("/orders/1")).body == "Bearer second")
        }
    }

    @Test func `a reload can replace an address by the wildcard address, and the reverse`()
        async throws
    {
        let origin = try await origin()
        let channels = "orders: { upstream: \"http://127.0.0.1:\(origin.port)\" }"
        try await DaemonHarness.run(channels: channels) { proxy async throws in
            let port = proxy.port
            for listen in ["0.0.0.0:\(port)", "127.0.0.1:\(port)", "localhost:\(port)"] {
                let root = "listen: [\"\(listen)\"]\nallow_remote: true"
                let told = await proxy.reload(channels: channels, root: root)
                #expect(told == ["the configuration was reloaded: 1 channel, story.yaml"])
                #expect(try await proxy.exchange(Raw.get("/orders/1")).body == "none")
            }
        }
    }

    @Test func `a refused reload leaves the plan unchanged`() async throws {
        let origin = try await origin()
        let upstream = "upstream: \"http://127.0.0.1:\(origin.port)\""
        try await DaemonHarness.run(channels: "orders: { \(upstream) }") { proxy async throws in
            let told = await proxy.reload(
                channels: "orders: { \(upstream), pool: { connections: 9 } }",
                root: "listen: [\"127.0.0.1:0\", \"127.0.0.1:\(origin.port)\"]"
            )
            #expect(told.last?.contains("the old one stays in force") == true)
            let plan = try await proxy.plan()
            #expect(plan.contains("changed: orders"))
            #expect(plan.contains("  channels.orders.pool.connections: 128 → 9"))
            #expect(plan.contains { $0.hasPrefix("listen: ") })
            #expect(try await proxy.exchange(Raw.get("/orders/1")).body == "none")
        }
    }

    @Test func `tokens are sealed with the first state_key until the next start`() async throws {
        let counter = Counter()
        let server = try await OriginServer.start { request in
            guard request.startLine.hasPrefix("POST") else {
                return Raw.ok(request["Authorization"] ?? "none")
            }
            return Raw.ok(
                #"{"access_token":"a\#(counter.next())","token_type":"Bearer","#
                    + #""expires_in":3600,"refresh_token":"c4nary"}"#,
                "Content-Type: application/json"
            )
        }
        let path = FileManager.default.temporaryDirectory
            .appending(path: "state-key-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try write("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", to: path)
        func channels(_ path: String) -> String {
            let url = "http://127.0.0.1:\(server.port)"
            let grant = "grant: refresh_token, refresh_token: literal:first, client_auth: none"
            return """
                orders: { upstream: '\(url)/\(path)', auth: { oauth: { token_url: '\(url)/token', \
                client_id: orders, \(grant) } } }
                """
        }
        let root = "state_key: 'file:\(path)'"
        try await DaemonHarness.run(channels: channels("one"), root: root) { proxy in
            #expect(try await proxy.exchange(Raw.get("/orders/1")).body == "Bearer a1")
            let file = URL(filePath: "\(proxy.directory)/state/orders.json")
            #expect(try !String(contentsOf: file, encoding: .utf8).contains("c4nary"))
            try write("//ECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", to: path)
            let told = await proxy.reload(channels: channels("two"), root: root)
            #expect(told.contains { $0.contains("the configuration was reloaded") })
            // The recreated manager can open the data that the first one sealed.
            #expect(try await proxy.exchange(Raw.get("/orders/1")).body == "Bearer a1")
            #expect(!proxy.reports.contains { $0.contains("state_key") })
        }
    }

    @Test func `a reload adds and removes listeners`() async throws {
        let origin = try await origin()
        let upstream = "upstream: \"http://127.0.0.1:\(origin.port)\""
        try await DaemonHarness.run(channels: "orders: { \(upstream) }") { proxy async throws in
            let first = proxy.port
            await proxy.reload(
                channels: "orders: { \(upstream), match: { listen: \"127.0.0.1:0\" } }"
            )
            let ports = await proxy.ports
            #expect(ports.count == 2 && ports[0] == first)
            let app = try await RawClient.connect(to: ports[1], sending: Raw.get("/1"))
            #expect(try await app.message().body == "none")
            await proxy.reload(channels: "orders: { \(upstream) }")
            // The connection is idle, so it ends with its listener.
            #expect(try await app.rest().end == .closed)
            #expect(await proxy.ports == [first])
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
        }
    }

    @Test func `an unusable address leaves everything unchanged`() async throws {
        let origin = try await origin()
        let upstream = "upstream: \"http://127.0.0.1:\(origin.port)\""
        try await DaemonHarness.run(channels: "orders: { \(upstream) }") { proxy async throws in
            await proxy.reload(
                channels: "bills: { \(upstream) }",
                root: "listen: [\"127.0.0.1:0\", \"127.0.0.1:\(origin.port)\"]"
            )
            #expect(proxy.reports.contains { $0.contains("cannot listen on") })
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            #expect(await proxy.ports == [proxy.port])
        }
    }

    @Test func `the connections of a removed channel are closed`() async throws {
        let (asked, reloaded) = (Gate(), Gate())
        let origin = try await OriginServer.start { wire in
            while let request = try await wire.next() {
                if request.startLine.contains("/late") {
                    asked.open()
                    try await reloaded.wait()
                }
                try await wire.send(Raw.ok())
            }
        }
        let upstream = "upstream: \"http://127.0.0.1:\(origin.port)\""
        try await DaemonHarness.run(channels: "orders: { \(upstream) }") { proxy async throws in
            let (early, late) = try await (proxy.connect(), proxy.connect())
            try await late.send(Raw.get("/orders/late"))
            try await asked.wait()
            try await early.send(Raw.get("/orders/early"))
            #expect(try await early.message().status == 200)
            await proxy.reload(channels: "others: { \(upstream) }")
            // The idle connection closes immediately, the other one after its response.
            try await origin.connections[1].closed.wait()
            reloaded.open()
            #expect(try await late.message().status == 200)
            try await origin.connections[0].closed.wait()
        }
    }

    @Test func `a client that waits on a closed listener is disconnected`() async throws {
        let origin = try await origin()
        let upstream = "upstream: \"http://127.0.0.1:\(origin.port)\""
        try await DaemonHarness.run(
            channels: "orders: { \(upstream), match: { listen: \"127.0.0.1:0\" } }",
            root: "drain: 1h"
        ) { proxy async throws in
            let app = try await RawClient.connect(
                to: await proxy.ports[1],
                sending: Raw.get("/1")
            )
            #expect(try await app.message().status == 200)
            await proxy.reload(channels: "orders: { \(upstream) }", root: "drain: 1h")
            #expect(try await app.rest().text == "")
        }
    }

    @Test func `an exchange on a closed listener may continue until the end of the drain`()
        async throws
    {
        let asked = Gate()
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            asked.open()
            try await wire.rest()
        }
        let upstream = "upstream: \"http://127.0.0.1:\(origin.port)\""
        // Waits for a drain of 200 ms.
        let root = "drain: 200ms"
        try await DaemonHarness.run(
            channels: "orders: { \(upstream), match: { listen: \"127.0.0.1:0\" } }",
            root: root
        ) { proxy async throws in
            let app = try await RawClient.connect(
                to: await proxy.ports[1],
                sending: Raw.get("/1")
            )
            try await asked.wait()
            await proxy.reload(channels: "orders: { \(upstream) }", root: root)
            #expect(try await app.rest().text.hasPrefix("HTTP/1.1 504 "))
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.error == "http_response_timeout")
        }
    }

    @Test func `a reload changes the rules for forwarding`() async throws {
        let origin = try await origin()
        let channels = "orders: { upstream: \"http://127.0.0.1:1\" }"
        try await DaemonHarness.run(channels: channels, destinations: .any) { proxy async throws in
            let request =
                "GET http://127.0.0.1:\(origin.port)/ HTTP/1.1\r\n"
                + "Host: 127.0.0.1:\(origin.port)\r\n\r\n"
            for (rule, status) in [("deny", 403), ("forward", 200), ("deny", 403)] {
                await proxy.reload(channels: channels, root: "unmatched: \(rule)")
                #expect(try await proxy.exchange(request).status == status)
            }
        }
    }

    @Test func `a reload changes the limits`() async throws {
        let origin = try await origin()
        let channels = "orders: { upstream: \"http://127.0.0.1:\(origin.port)\" }"
        try await DaemonHarness.run(channels: channels) { proxy async throws in
            let long = Raw.get("/orders/" + String(repeating: "x", count: 2000))
            #expect(try await proxy.exchange(long).status == 200)
            await proxy.reload(channels: channels, root: "limits: { target_size: 1KiB }")
            #expect(try await proxy.exchange(long).status == 414)
            let told = await proxy.reload(channels: channels, root: "workers: 2")
            #expect(told.contains("workers: takes effect at the next start"))
            #expect(proxy.reports.suffix(told.count) == told[...])
            let key = await proxy.reload(channels: channels, root: "state_key: \"env:STATE_KEY\"")
            #expect(key.contains { $0.contains("state_key: takes effect at the next start") })
        }
    }

    @Test func `the daemon's log contains every reason for a refused reload`() async throws {
        let channels = "orders: { upstream: \"http://127.0.0.1:1\" }"
        try await DaemonHarness.run(channels: channels) { proxy async throws in
            let told = await proxy.reload(channels: channels, root: "drain: 1\nunmatched: maybe")
            #expect(told.count == 3)
            let refused = try await proxy.ask(Raw.get("/status"))
            let state = try #require(DaemonStatus(json: refused.body))
            #expect(state.configuration?.refusal == Array(told.dropLast()))
            #expect(state.lines.joined(separator: "\n").contains("ago was refused:\n  \(told[0])"))
            let gauge = "\nnetproxy_config_last_reload_successful"
            #expect(try await proxy.ask(Raw.get("/metrics")).body.contains("\(gauge) 0\n"))
            await proxy.reload(channels: channels)
            #expect(try await proxy.ask(Raw.get("/metrics")).body.contains("\(gauge) 1\n"))
            let log = try await proxy.allLogs()
            for reason in told.dropLast() { #expect(log.contains(reason)) }
        }
    }

    @Test func `a change that requires a restart is reported until it is reverted`() async throws {
        let channels = "orders: { upstream: \"http://127.0.0.1:1\" }"
        try await DaemonHarness.run(channels: channels) { proxy async throws in
            let changed = "workers: 2\nstate_key: \"env:STATE_KEY\""
            for _ in 1...2 {
                let told = await proxy.reload(channels: channels, root: changed)
                #expect(told.last == "workers, state_key: take effect at the next start")
            }
            let told = await proxy.reload(channels: channels)
            #expect(told == ["the configuration was reloaded: 1 channel, story.yaml"])
        }
    }

    @Test func `a reload moves the log to another directory`() async throws {
        let origin = try await origin()
        let channels = "orders: { upstream: \"http://127.0.0.1:\(origin.port)\" }"
        try await DaemonHarness.run(channels: channels) { proxy async throws in
            let other = "\(proxy.directory)/other"
            await proxy.reload(channels: channels, root: "log: { directory: \"\(other)\" }")
            _ = try await proxy.exchange(Raw.get("/orders/moved"))
            #expect(try await proxy.log("orders").isEmpty)
            let text = try String(contentsOfFile: "\(other)/orders.log", encoding: .utf8)
            #expect(text.contains("/moved"))
        }
    }

    @Test func `a rebuilt channel keeps its counters and its log file`() async throws {
        let origin = try await origin()
        let upstream = "upstream: \"http://127.0.0.1:\(origin.port)\""
        try await DaemonHarness.run(channels: "orders: { \(upstream) }") { proxy async throws in
            for size in 7...9 {
                _ = try await proxy.exchange(Raw.get("/orders/\(size)"))
                #expect(await proxy.hasLoggedExchange("orders"))
                await proxy.reload(
                    channels: "orders: { \(upstream), pool: { connections: \(size) } }"
                )
            }
            _ = try await proxy.exchange(Raw.get("/orders/last"))
            let metrics = try await proxy.ask(Raw.get("/metrics")).body
            #expect(metrics.contains(#"netproxy_requests_total{channel="orders",status="2xx"} 4"#))
            #expect(openFiles("\(proxy.directory)/log/orders.log") <= 1)
            await proxy.reload(channels: "other: { \(upstream) }")
            let path = "\(proxy.directory)/log/orders.log"
            #expect(await eventually { openFiles(path) == 0 })
            #expect(try await proxy.log("orders").count == 4)
        }
    }

    private func openFiles(_ path: String) -> Int {
        let manager = FileManager.default
        let numbers = (try? manager.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return numbers.count {
            (try? manager.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
        }
    }

    @Test func `an exchange that outlives its channel is logged, and the file is closed`()
        async throws
    {
        let (asked, reloaded) = (Gate(), Gate())
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            asked.open()
            try await reloaded.wait()
            try await wire.send(Raw.ok())
        }
        let upstream = "upstream: \"http://127.0.0.1:\(origin.port)\""
        try await DaemonHarness.run(channels: "orders: { \(upstream) }") { proxy async throws in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            try await asked.wait()
            await proxy.reload(channels: "others: { \(upstream) }")
            reloaded.open()
            #expect(try await app.message().status == 200)
            #expect(await proxy.hasLoggedExchange("orders"))
            let path = "\(proxy.directory)/log/orders.log"
            #expect(await eventually { openFiles(path) == 0 })
            #expect(try await proxy.onlyLine("orders").facts.status == 200)
        }
    }
}
