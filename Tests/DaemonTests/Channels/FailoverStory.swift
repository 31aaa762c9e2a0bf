import TestSupport
import Testing

/// Channels with several upstreams.
@Suite struct FailoverStory {
    private static func channel(_ ports: [Int], _ paths: [String] = ["", ""]) -> String {
        let urls = zip(ports, paths).map { "'http://127.0.0.1:\($0)\($1)'" }
        return "orders: { upstream: [\(urls.joined(separator: ", "))], retry: { attempts: 0 } }"
    }

    @Test func `an unreachable upstream causes failover to the next`() async throws {
        let origin = try await OriginServer.start { Raw.ok($0.body) }
        let channels = FailoverStory.channel(
            [RefusingPort.any(), origin.port],
            ["/v1", "/other/v1"]
        )
        try await DaemonHarness.run(channels: channels) { proxy in
            let answer = try await proxy.exchange(Raw.post("/orders/1?a=b", body: "once"))
            #expect(answer.body == "once")
            _ = try await proxy.exchange(Raw.get("/orders/"))
            #expect(
                origin.requests.map(\.startLine) == [
                    "POST /other/v1/1?a=b HTTP/1.1", "GET /other/v1/ HTTP/1.1",
                ]
            )
            #expect(origin.requests[0]["Host"] == "127.0.0.1:\(origin.port)")
            let status = try await proxy.ask(Raw.get("/status"))
            let second = "http://127.0.0.1:\(origin.port)/other/v1"
            #expect(status.body.contains(#""further_upstreams":["\#(second)"]"#))
            let facts = try await proxy.log("orders").map(\.facts)
            #expect(facts.map(\.attempts) == [2, 1])
            // The second request did not try the first upstream.
            #expect(facts.map(\.retries) == [["connection_refused"], nil])
            // The record names the upstream that responded.
            let authority = "127.0.0.1:\(origin.port)"
            #expect(facts.map(\.host) == [authority, authority])
            #expect(facts.map(\.upstream) == [authority, authority])
            #expect(facts.map(\.path) == ["/other/v1/1", "/other/v1/"])
        }
    }

    @Test func `all loops skip an unreachable upstream`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let channels = FailoverStory.channel([RefusingPort.any(), origin.port])
        try await DaemonHarness.run(channels: channels, root: "workers: 4") { proxy in
            for _ in 1...8 { _ = try await proxy.exchange(Raw.get("/orders/1")) }
            let facts = try await proxy.log("orders").map(\.facts)
            #expect(facts.compactMap(\.attempts).reduce(0, +) == 9)
        }
    }

    @Test(arguments: [("/orders?a=b", "/?a=b"), ("/orders", "/"), ("/orders/1", "/1")])
    func `a request to an upstream without a base path has a path`(
        _ target: String,
        _ expected: String
    ) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let channels = FailoverStory.channel([RefusingPort.any(), origin.port], ["/v1", ""])
        try await DaemonHarness.run(channels: channels) { proxy in
            _ = try await proxy.exchange(Raw.get(target))
            #expect(origin.requests.map(\.startLine) == ["GET \(expected) HTTP/1.1"])
        }
    }

    @Test func `a request for the whole server skips an upstream with a base path`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let ports = [RefusingPort.any(), origin.port]
        let options = "OPTIONS * HTTP/1.1\r\nHost: orders.localhost\r\n\r\n"
        try await DaemonHarness.run(channels: FailoverStory.channel(ports, ["", "/v2"])) { proxy in
            let answer = try await proxy.exchange(options)
            #expect(answer.status == 502)
            #expect(origin.requests.isEmpty)
        }
        try await DaemonHarness.run(channels: FailoverStory.channel(ports)) { proxy in
            let answer = try await proxy.exchange(options)
            #expect(answer.status == 200)
            #expect(origin.requests.map(\.startLine) == ["OPTIONS * HTTP/1.1"])
        }
    }

    @Test func `a recovered upstream is the first choice again`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let channels = FailoverStory.channel([RefusingPort.any(), origin.port])
        try await DaemonHarness.run(channels: channels) { proxy in
            let app = try await proxy.connect()
            for _ in 1...2 {
                try await app.send(Raw.get("/orders/1"))
                #expect(try await app.message().status == 200)
            }
            await proxy.advance(by: .seconds(11))
            try await app.send(Raw.get("/orders/1"))
            #expect(try await app.message().status == 200)
            #expect(try await proxy.log("orders").map(\.facts.attempts) == [2, 1, 2])
        }
    }

    @Test func `only one request tries an upstream after its cool-down`() async throws {
        let (silent, origin) = try await (SilentPort(), OriginServer.start { _ in Raw.ok() })
        let urls = ["http://\(silent.address)", "http://127.0.0.1:\(origin.port)"]
        let rest = "retry: { attempts: 0 }, timeouts: { connect: 300ms }"
        try await DaemonHarness.run(channels: "orders: { upstream: \(urls), \(rest) }") { proxy in
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            await proxy.advance(by: .seconds(11))
            let apps = try await (proxy.connect(), proxy.connect(), proxy.connect())
            for app in [apps.0, apps.1, apps.2] { try await app.send(Raw.get("/orders/1")) }
            for app in [apps.0, apps.1, apps.2] {
                #expect(try await app.message().status == 200)
            }
            let attempts = try await proxy.log("orders").compactMap(\.facts.attempts)
            #expect(attempts.sorted() == [1, 1, 2, 2])
        }
    }

    @Test func `a response ends the cool-down of an upstream even if the other is cooling down`()
        async throws
    {
        let script: OriginServer.Script = { wire in
            while try await wire.next() != nil { try await wire.send(Raw.ok()) }
        }
        let (first, second) = try await (
            OriginServer.start(at: "127.0.0.2", script), OriginServer.start(at: "127.0.0.3", script)
        )
        let urls = "['http://127.0.0.2:\(first.port)', 'http://127.0.0.3:\(second.port)']"
        try await DaemonHarness.run(
            channels: "orders: { upstream: \(urls), retry: { attempts: 0 } }"
        ) { proxy in
            // Each time, the other upstream: first and second fail and respond in turn.
            for (shut, open) in [(first, second), (second, first), (first, second)] {
                await open.reopen()
                try await shut.shut()
                #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            }
            // The second upstream responded last, so it is tried immediately.
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            #expect(try await proxy.log("orders").map(\.facts.attempts) == [2, 2, 2, 1])
        }
    }

    @Test func `a response with an error status causes no failover`() async throws {
        let first = try await OriginServer.start { _ in Raw.response("503 Service Unavailable") }
        let second = try await OriginServer.start { _ in Raw.ok() }
        let channels = FailoverStory.channel([first.port, second.port])
        try await DaemonHarness.run(channels: channels) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 503)
            #expect(second.connections.isEmpty)
        }
    }

    @Test func `if no upstream is reachable, the response describes the last one`() async throws {
        let channels = FailoverStory.channel([RefusingPort.any(), RefusingPort.any()])
        try await DaemonHarness.run(channels: channels) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 502)
            #expect(answer["Proxy-Status"] == "netproxy; error=connection_refused")
            #expect(try await proxy.onlyLine("orders").facts.attempts == 2)
        }
    }

    @Test func `every upstream's authority identifies the channel`() async throws {
        let (first, second) = try await (
            OriginServer.start { _ in Raw.ok("first") },
            OriginServer.start { _ in Raw.ok("second") }
        )
        let channels = FailoverStory.channel([first.port, second.port], ["/v1", "/v2"])
        try await DaemonHarness.run(channels: channels) { proxy in
            let authority = "127.0.0.1:\(second.port)"
            let answer = try await proxy.exchange(
                "GET http://\(authority)/v2/7 HTTP/1.1\r\nHost: \(authority)\r\n\r\n"
            )
            #expect(answer.body == "first")
            #expect(first.requests.map(\.startLine) == ["GET /v1/7 HTTP/1.1"])
        }
    }
}
