import FoundationEssentials
import TestSupport
import Testing

/// Accepted connections whose clients have not sent a request when the daemon stops.
@Suite struct RestartStory {
    private func run(
        root: String = "",
        _ story: (_ proxy: DaemonHarness, _ channels: String) async throws -> Void
    ) async throws {
        let origin = try await OriginServer.start { wire in
            while try await wire.next() != nil { try await wire.send(Raw.ok("here")) }
        }
        let channels = "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        try await DaemonHarness.run(channels: channels, root: root) { proxy async throws in
            try await story(proxy, channels)
        }
    }

    /// Waits until the daemon has begun to drain.
    private func isDraining(_ proxy: DaemonHarness) async throws {
        #expect(await proxy.tells("draining"))
        while try await proxy.ask(Raw.get("/readyz")).status == 200 { await Task.yield() }
    }

    @Test(arguments: [1, 3])
    func `a connection without a request gets one response before it closes`(
        workers: Int
    ) async throws {
        try await run(root: "workers: \(workers)") { proxy, _ in
            var apps: [Wire] = []
            for _ in 0..<12 { apps.append(try await proxy.connect()) }
            async let stopped: Void = proxy.stop()
            try await isDraining(proxy)
            for (index, app) in apps.enumerated() {
                try await app.send(Raw.get("/orders/1"))
                let answer = try await app.message()
                #expect(answer.body == "here")
                // A loop can respond before it has begun to drain, and close afterward.
                if workers == 1, index > 0 { #expect(answer["Connection"] == "close") }
                #expect(try await app.rest().end == .closed)
            }
            await stopped
            #expect(try await proxy.log("orders").count == 12)
        }
    }

    @Test func `a kept connection gets one more response before it closes`() async throws {
        try await run { proxy, _ in
            let (app, idle) = try await (proxy.connect(), proxy.connect())
            for kept in [app, idle] {
                try await kept.send(Raw.get("/orders/1"))
                #expect(try await kept.message()["Connection"] == "keep-alive")
            }
            async let stopped: Void = proxy.stop()
            try await isDraining(proxy)
            try await app.send(Raw.get("/orders/2"))
            let answer = try await app.message()
            #expect(answer.body == "here")
            #expect(answer["Connection"] == "close")
            #expect(try await app.rest().end == .closed)
            await proxy.advance(by: .seconds(1))
            #expect(try await idle.rest().text.isEmpty)
            await stopped
        }
    }

    @Test func `a client that sends no request delays the stop by a limited time`() async throws {
        try await run(root: "drain: 1h") { proxy, _ in
            let app = try await proxy.connect()
            async let stopped: Void = proxy.stop()
            try await isDraining(proxy)
            await proxy.advance(by: .seconds(6))
            await stopped
            #expect(try await app.rest().text.isEmpty)
        }
    }

    @Test func `the end of the drain ends the wait for a request`() async throws {
        try await run(root: "drain: 100ms") { proxy, _ in
            let app = try await proxy.connect()
            await proxy.stop()
            #expect(try await app.rest().text.isEmpty)
        }
    }

    @Test func `a listener closed by a reload serves the connections that it accepted`()
        async throws
    {
        try await run(root: "listen: ['127.0.0.1:0', '127.0.0.2:0']") { proxy, channels in
            let port = try #require(await proxy.ports.first)
            let apps = [
                try await RawClient.connect(to: port), try await RawClient.connect(to: port),
            ]
            await proxy.reload(channels: channels, root: "listen: ['127.0.0.2:0']")
            for app in apps {
                try await app.send(Raw.get("/orders/1"))
                let answer = try await app.message()
                #expect(answer.body == "here" && answer["Connection"] == "close")
            }
        }
    }

    @Test func `a unix socket serves a waiting connection before the stop`() async throws {
        try await run(root: "listen: ['unix:DIRECTORY/app.sock']") { proxy, _ in
            let app = try await RawClient.connect(
                path: "\(proxy.directory)/app.sock",
                sending: ""
            )
            async let stopped: Void = proxy.stop()
            try await isDraining(proxy)
            try await app.send(Raw.get("/orders/1"))
            #expect(try await app.message().body == "here")
            await stopped
        }
    }
}
