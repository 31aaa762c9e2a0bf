import NetproxyPath
import NetproxyService
import TestSupport
import Testing

@Suite struct KeepAliveStory {
    @Test func `a connection that its origin closes leaves the pool`() async throws {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send(Raw.ok())
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy async throws in
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            try await origin.connections[0].closed.wait()
            let isGone = await eventually {
                let answer = try? await proxy.ask(Raw.get("/metrics"))
                let line = #"netproxy_upstream_connections{channel="orders"} 0"#
                return answer?.body.contains(line) == true
            }
            #expect(isGone)
        }
    }

    @Test(arguments: 0..<3)
    func `the end of one idle connection does not affect the others`(which: Int) async throws {
        let turns = (0..<3).map { _ in Gate() }
        let origin = try await OriginServer.start { wire in
            while let request = try await wire.next() {
                for (number, turn) in turns.enumerated()
                where request.startLine.hasPrefix("GET /\(number) ") {
                    try await turn.wait()
                }
                try await wire.send(Raw.ok(request.startLine))
            }
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy async throws in
            var apps: [Wire] = []
            for number in 0..<3 {
                let app = try await proxy.connect()
                try await app.send(Raw.get("/orders/\(number)"))
                let isHere = await eventually { origin.connections.count == number + 1 }
                #expect(isHere)
                apps.append(app)
            }
            // One after another, so that the pool stores them in this order.
            for (turn, app) in zip(turns, apps) {
                turn.open()
                #expect(try await app.message().status == 200)
            }
            #expect(await pool(of: proxy) == [3, 3])
            try await origin.connections[which].close()
            let isGone = await eventually { await pool(of: proxy) == [2, 2] }
            #expect(isGone)
            for app in apps {
                try await app.send(Raw.get("/orders/again"))
                #expect(try await app.message().status == 200)
            }
            #expect(origin.connections.count == 3)
            #expect(await pool(of: proxy) == [2, 2])
        }
    }

    /// Returns the numbers of open and of idle connections to the first channel's origin.
    private func pool(of proxy: DaemonHarness) async -> [Int?] {
        let answer = try? await proxy.ask(Raw.get("/status"))
        let pool = answer.flatMap { DaemonStatus(json: $0.body) }?.channels[0].pool
        return [pool?.open, pool?.idle]
    }

    @Test func `an idle connection is kept for the pool's keep-alive time`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: """
                orders: { upstream: http://127.0.0.1:\(origin.port), pool: { idle: 10s } }
                """
        ) { proxy async throws in
            for time in [9, 11] {
                #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
                let isIdle = await eventually {
                    let answer = try? await proxy.ask(Raw.get("/status"))
                    let status = answer.flatMap { DaemonStatus(json: $0.body) }
                    return status?.channels[0].pool.idle == 1
                }
                #expect(isIdle)
                await proxy.advance(by: .seconds(time))
            }
            try await origin.connections[0].closed.wait()
            #expect(origin.connections.count == 1)
        }
    }

    @Test func `downstream and upstream connections are reused for later requests`() async throws {
        let origin = try await OriginServer.start { Raw.ok($0.startLine) }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            for number in 1...3 {
                try await app.send(Raw.get("/orders/\(number)"))
                #expect(try await app.message().body == "GET /\(number) HTTP/1.1")
            }
            #expect(origin.connections.count == 1)
            let lines = try await proxy.log("orders")
            #expect(lines.map(\.facts.reused) == [false, true, true])
        }
    }

    @Test func `pipelined requests get their responses in order`() async throws {
        let origin = try await OriginServer.start { Raw.ok($0.startLine + $0.body) }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                Raw.get("/orders/1") + Raw.post("/orders/2", body: "two") + Raw.get("/orders/3")
            )
            #expect(try await app.message().body == "GET /1 HTTP/1.1")
            #expect(try await app.message().body == "POST /2 HTTP/1.1two")
            #expect(try await app.message().body == "GET /3 HTTP/1.1")
        }
    }

    @Test func `a request with Connection close gets its response before the connection closes`()
        async throws
    {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1", "Connection: close"))
            let answer = try await app.message()
            #expect(answer["Connection"] == "close")
            #expect(try await app.rest().end == .closed)
        }
    }

    @Test(arguments: [
        ("HEAD", "200 OK", "Content-Length: 4"), ("HEAD", "200 OK", "Transfer-Encoding: chunked"),
        ("GET", "304 Not Modified", "Content-Length: 4"),
        ("GET", "304 Not Modified", "Transfer-Encoding: chunked"),
    ])
    func `a response that falsely announces content does not swallow the next one`(
        method: String,
        status: String,
        framing: String
    ) async throws {
        let origin = try await OriginServer.start { wire in
            while let request = try await wire.next() {
                guard request.startLine.contains("/1 ") else {
                    let option = wire.number == 0 ? "keep-alive" : "close"
                    try await wire.send(Raw.ok("own", "Connection: \(option)"))
                    continue
                }
                try await wire.send("HTTP/1.1 \(status)\r\n\(framing)\r\n\r\n")
            }
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            // The requests are pipelined: the second arrives immediately, while content could still be on its
            // way.
            try await app.send(
                "\(method) /orders/1 HTTP/1.1\r\nHost: localhost\r\n\r\n" + Raw.get("/orders/2")
            )
            try await app.read(through: "\r\n\r\nown")
            #expect(origin.connections.count == 2)
            // After a pause it is an ordinary connection.
            while origin.connections[0].messages.count < 2 {
                try await app.send(Raw.get("/orders/3"))
                #expect(try await app.message().body == "own")
            }
        }
    }

    @Test func `an upstream connection with Connection close is not reused`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok("x", "Connection: close") }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            for _ in 1...2 {
                try await app.send(Raw.get("/orders/1"))
                #expect(try await app.message().status == 200)
            }
            #expect(origin.connections.count == 2)
        }
    }

    @Test func `the connection of an HTTP 1-0 client ends after the response`() async throws {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
            )
            _ = try await wire.next()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send("GET /orders/1 HTTP/1.0\r\nHost: localhost\r\n\r\n")
            let head = try await app.read(through: "\r\n\r\n")
            #expect(!head.lowercased().contains("transfer-encoding"))
            let (text, end) = try await app.rest()
            #expect(text == "hello")
            #expect(end == .closed)
        }
    }
}
