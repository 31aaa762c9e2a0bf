import NetproxyHTTP2
import NetproxyHTTPMessage
import NetproxyPath
import NetproxyService
import TestSupport
import Testing

/// Limits below the number of event loops.
@Suite struct LimitStory {
    @Test func `all loops together respect the connection limit`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }",
            root: "workers: 4\nlimits: { connections: 2, head_timeout: 1h }"
        ) { proxy async throws in
            var apps: [Wire] = []
            for _ in 1...2 {
                let app = try await RawClient.connect(to: proxy.port, sending: Raw.get("/orders/1"))
                #expect(try await app.message().status == 200)
                apps.append(app)
            }
            // The reset can arrive before the handshake has finished.
            for _ in 1...8 {
                let end = try? await proxy.connect().rest().end
                #expect(end == nil || end == .reset)
            }
            let metrics = try await proxy.ask(Raw.get("/metrics")).body
            #expect(metrics.contains("\nnetproxy_connections_refused_total 8\n"))
            let answer = try await proxy.ask(Raw.get("/status"))
            let status = try #require(DaemonStatus(json: answer.body))
            #expect(status.lines[0].hasSuffix("8 connections rejected (limits.connections)"))
            try await apps.removeLast().close()
            // A place is free again after the proxy has seen the end of a connection.
            let isServed = await eventually {
                (try? await proxy.exchange(Raw.get("/orders/2")).status) == 200
            }
            #expect(isServed)
        }
    }

    /// Otherwise a user without a key could keep all clients out.
    @Test(arguments: ["", "\r\n", "GET /orders/1 HTTP/1.1\r\nHost:"])
    func `a connection without a request is closed for a new one`(text: String) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let key = "access: { key: 'literal:sesame' }"
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port), \(key) }",
            root: "limits: { connections: 4, head_timeout: 1h }"
        ) { proxy async throws in
            var silent: [Wire] = []
            for _ in 1...4 {
                silent.append(try await RawClient.connect(to: proxy.port, sending: text))
            }
            let request = Raw.get("/orders/1", "Proxy-Authorization: Bearer sesame")
            for _ in 1...4 { #expect(try await proxy.exchange(request).status == 200) }
            // The closed connection is arbitrary, because all of them can arrive in one turn of the loop.
            let metrics = try await proxy.ask(Raw.get("/metrics")).body
            #expect(metrics.contains("\nnetproxy_connections_refused_total 0\n"))
            #expect(silent.count == 4)
        }
    }

    @Test func `an idle connection is closed for a new one, but a recently used one is not`()
        async throws
    {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }",
            root: "limits: { connections: 1, head_timeout: 1h }"
        ) { proxy async throws in
            let app = try await RawClient.connect(to: proxy.port, sending: Raw.get("/orders/1"))
            #expect(try await app.message().status == 200)
            let early = try? await proxy.connect().rest().end
            #expect(early == nil || early == .reset)
            await proxy.advance(by: .seconds(6))
            let isServed = await eventually {
                (try? await proxy.exchange(Raw.get("/orders/2")).status) == 200
            }
            #expect(isServed)
        }
    }

    @Test func `the first request must arrive within head_timeout`() async throws {
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:9 }",
            root: "limits: { head_timeout: 10s }"
        ) { proxy async throws in
            let silent = try await proxy.connect()
            let isAccepted = await eventually {
                (try? await proxy.ask(Raw.get("/metrics")).body
                    .contains("\nnetproxy_connections 1\n")) == true
            }
            #expect(isAccepted)
            await proxy.advance(by: .seconds(11))
            _ = try await silent.rest()
        }
    }

    /// The kernel gives one loop many more connections than its share.
    @Test func `client connections are spread over the loops, so that no pool fills up early`()
        async throws
    {
        let answered = Gate()
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await answered.wait()
            try await wire.send(Raw.ok())
        }
        let pool = "pool: { connections: 44, queue: 0, wait: 1h }"
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port), \(pool) }",
            root: "workers: 4"
        ) { proxy async throws in
            let apps = try await withThrowingTaskGroup(of: Wire.self) { group in
                for number in 1...40 {
                    group.addTask {
                        try await RawClient.connect(
                            to: proxy.port,
                            sending: Raw.get("/orders/\(number)")
                        )
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(await eventually { origin.requests.count == 40 })
            answered.open()
            for app in apps { #expect(try await app.message().status == 200) }
        }
    }

    @Test func `without a queue no request waits for a connection`() async throws {
        let (asked, answered) = (Gate(), Gate())
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            asked.open()
            try await answered.wait()
            try await wire.send(Raw.ok())
        }
        let pool = "pool: { connections: 1, queue: 0, wait: 1h }"
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port), \(pool) }"
        ) { proxy async throws in
            let app = try await RawClient.connect(to: proxy.port, sending: Raw.get("/orders/1"))
            try await asked.wait()
            let second = try await proxy.exchange(Raw.get("/orders/2"))
            #expect(second.status == 503)
            #expect(second.body.contains("the queue is full"))
            answered.open()
            #expect(try await app.message().status == 200)
        }
    }

    @Test func `requests that wait for a connection are served in order`() async throws {
        try await withBusyConnection { proxy, origin, first, answered in
            var apps = [first]
            for number in 1...3 {
                let target = Raw.get("/orders/\(number)")
                apps.append(try await RawClient.connect(to: proxy.port, sending: target))
                #expect(await eventually { await queued(proxy) == number })
            }
            answered.open()
            for app in apps { #expect(try await app.message().status == 200) }
            #expect(
                origin.requests.map(\.startLine) == (0...3).map { "GET /\($0) HTTP/1.1" }
            )
            let lines = try await proxy.log("orders")
            #expect(lines.map(\.facts.reused) == [false, true, true, true])
            #expect(Set(lines.map(\.facts.upstream)) == ["127.0.0.1:\(origin.port)"])
            let waited = lines.map { $0.text.contains(#""queue_ms":"#) }
            #expect(waited == [false, true, true, true])
        }
    }

    @Test func `a client that disconnects while waiting for a connection causes no request`()
        async throws
    {
        try await withBusyConnection { proxy, origin, first, answered in
            let leaving = try await RawClient.connect(to: proxy.port, sending: Raw.get("/orders/1"))
            #expect(await eventually { await queued(proxy) == 1 })
            try await leaving.close()
            #expect(await eventually { await queued(proxy) == 0 })
            answered.open()
            #expect(try await first.message().status == 200)
            #expect(try await proxy.exchange(Raw.get("/orders/2")).status == 200)
            #expect(origin.requests.map(\.startLine) == ["GET /0 HTTP/1.1", "GET /2 HTTP/1.1"])
            let lines = try await proxy.log("orders")
            #expect(lines.map(\.facts.status) == [499, 200, 200])
            #expect(lines.first?.facts.abortedBy == "client")
        }
    }

    /// Runs a story with a channel whose only connection carries the request for `/orders/0`.
    ///
    /// The origin responds to that request when the gate opens, and to later ones immediately.
    private func withBusyConnection(
        _ story: (DaemonHarness, OriginServer, _ first: Wire, _ answered: Gate) async throws -> Void
    ) async throws {
        let (asked, answered) = (Gate(), Gate())
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            asked.open()
            try await answered.wait()
            try await wire.send(Raw.ok())
            while try await wire.next() != nil { try await wire.send(Raw.ok()) }
        }
        let pool = "pool: { connections: 1, wait: 1h }"
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port), \(pool) }"
        ) { proxy async throws in
            let first = try await RawClient.connect(to: proxy.port, sending: Raw.get("/orders/0"))
            try await asked.wait()
            try await story(proxy, origin, first, answered)
        }
    }

    private func queued(_ proxy: DaemonHarness) async -> Int? {
        let answer = try? await proxy.ask(Raw.get("/status"))
        return answer.flatMap { DaemonStatus(json: $0.body) }?.channels[0].pool.queued
    }

    @Test func `one client never uses the last tenth of a pool`() async throws {
        let slow = Gate()
        let origin = try await OriginServer.start { wire in
            while let request = try await wire.next() {
                if request.startLine.contains("/slow") { try await slow.wait() }
                try await wire.send(Raw.ok())
            }
        }
        let pool = "pool: { connections: 10, wait: 1h }"
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port), \(pool) }"
        ) { proxy async throws in
            let app = HTTP2Peer(try await proxy.connect(), as: .client)
            var streams: [Int32?] = []
            for _ in 0..<12 { streams.append(try await app.request(.get, "/orders/slow")) }
            try await #require(eventually { origin.requests.count == 9 })
            for _ in 0..<5 {
                #expect(try await proxy.exchange(Raw.get("/orders/quick")).status == 200)
            }
            #expect(await queued(proxy) == 3)
            slow.open()
            for stream in streams { #expect(try await app.message(on: stream).status == 200) }
        }
    }

    @Test func `a client with more than its share gets no connection while others wait`()
        async throws
    {
        let gates = (0..<2).map { _ in Gate() }
        let origin = try await OriginServer.start { wire in
            while let request = try await wire.next() {
                if request.startLine.contains("/first") { try await gates[wire.number].wait() }
                try await wire.send(Raw.ok())
            }
        }
        let pool = "pool: { connections: 2, wait: 1h }"
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port), \(pool) }"
        ) { proxy async throws in
            let app = HTTP2Peer(try await proxy.connect(), as: .client)
            for _ in 0..<2 { _ = try await app.request(.get, "/orders/first") }
            try await #require(eventually { origin.requests.count == 2 })
            let last = try await app.request(.get, "/orders/last")
            try await #require(eventually { await queued(proxy) == 1 })
            let other = try await RawClient.connect(to: proxy.port, sending: Raw.get("/orders/x"))
            try await #require(eventually { await queued(proxy) == 2 })
            gates[0].open()
            // The first client still uses one of two connections, so the other client is next.
            #expect(try await other.message().status == 200)
            #expect(try await app.message(on: last).status == 200)
            #expect(origin.connections[0].messages[1].startLine == "GET /x HTTP/1.1")
            gates[1].open()
        }
    }

    @Test func `there are at most as many loops as a pool has connections`() async throws {
        let channels = "orders: { upstream: http://127.0.0.1:1, pool: { connections: 1 } }"
        try await DaemonHarness.run(channels: channels, root: "workers: auto") {
            proxy async throws in
            let answer = try await proxy.ask(Raw.get("/status"))
            #expect(try #require(DaemonStatus(json: answer.body)).workers == 1)
        }
    }

    @Test func `a pool with fewer connections than loops requires a restart`() async throws {
        let channels = "orders: { upstream: http://127.0.0.1:1 }"
        try await DaemonHarness.run(channels: channels, root: "workers: 2") { proxy async throws in
            await proxy.reload(
                channels: "orders: { upstream: http://127.0.0.1:1, pool: { connections: 1 } }"
            )
            #expect(proxy.reports.contains { $0.contains("the 2 running event loops") })
            #expect(proxy.reports.contains { $0.contains("the old one stays") })
        }
    }
}
