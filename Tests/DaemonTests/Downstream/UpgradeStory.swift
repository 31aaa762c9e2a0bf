import TestSupport
import Testing

@Suite struct UpgradeStory {
    private static let ask = Raw.get(
        "/chat/room",
        "Connection: keep-alive, Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    )
    private static let agree =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
        + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

    private static func channel(_ origin: OriginServer, _ more: String = "") -> String {
        "chat: { upstream: 'http://127.0.0.1:\(origin.port)'\(more) }"
    }

    /// Starts an origin that accepts the upgrade and echoes the received bytes in capitals.
    private static func echo() async throws -> OriginServer {
        try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send(agree + "welcome;")
            while true {
                let word = try await wire.read(through: ";")
                try await wire.send(word.uppercased())
            }
        }
    }

    @Test func `a tunnel carries bytes in both directions, including early ones`() async throws {
        let origin = try await UpgradeStory.echo()
        try await DaemonHarness.run(channels: UpgradeStory.channel(origin)) { proxy in
            let app = try await proxy.connect()
            try await app.send(UpgradeStory.ask + "early;")
            let answer = try await app.message(.none)
            #expect(answer.status == 101)
            #expect(answer["Upgrade"] == "websocket")
            #expect(answer["Connection"] == "Upgrade")
            #expect(answer["Sec-WebSocket-Accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
            try await app.read(through: "welcome;EARLY;")
            try await app.send("GET /not/a/request HTTP/1.1\r\n\r\n;")
            try await app.read(through: "GET /NOT/A/REQUEST HTTP/1.1\r\n\r\n;")
            try await app.finishWriting()
            try await app.rest()
            let log = try await proxy.allLogs()
            #expect(log.contains(#""event":"upgrade""#))
            #expect(log.contains(#""protocol":"websocket""#))
            let facts = try await proxy.onlyLine("chat").facts
            #expect(facts.status == 101)
            #expect(facts.upstreamStatus == 101)
            #expect(facts.bytesIn == 38)
            #expect(facts.bytesOut == 46)
        }
    }

    @Test func `the fields of the upgrade are regenerated`() async throws {
        let origin = try await UpgradeStory.echo()
        try await DaemonHarness.run(
            channels: UpgradeStory.channel(origin, ", auth: { bearer: 'literal:sesame' }")
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                Raw.get(
                    "/chat/room",
                    "Connection: x-mine,  UPGRADE ,HTTP2-Settings",
                    "Upgrade: h2c, websocket",
                    "Upgrade: TLS/1.0",
                    "HTTP2-Settings: AAMAAABkAAQAAP__",
                    "X-Mine: 1"
                )
            )
            #expect(try await app.message(.none).status == 101)
            let request = try #require(origin.requests.first)
            #expect(request["Connection"] == "Upgrade")
            #expect(request["Upgrade"] == "websocket")
            #expect(request.values("HTTP2-Settings").isEmpty)
            #expect(request.values("X-Mine").isEmpty)
            // The handshake contains the credential; nothing after it is a request.
            #expect(request["Authorization"] == "Bearer sesame")
            try await app.send("token?;")
            try await app.read(through: "TOKEN?;")
            try await app.close()
            #expect(try await !proxy.allLogs().contains("sesame"))
        }
    }

    @Test(arguments: [
        ["Upgrade: websocket"], ["Connection: Upgrade", "Upgrade: h2c"],
        ["Connection: Upgrade"], ["Connection: Upgrade", "Upgrade: HTTP/3.0, tls/1.2"],
    ])
    func `a request without an upgrade is forwarded as usual`(fields: [String]) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(channels: UpgradeStory.channel(origin)) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.request("POST", "/chat/1", fields: fields, body: "hello"))
            #expect(try await app.message().status == 200)
            let request = try #require(origin.requests.first)
            #expect(request.values("Upgrade").isEmpty)
            #expect(request.values("Connection").isEmpty)
            #expect(request.body == "hello")
        }
    }

    @Test func `an upgrade that the origin declines gets an ordinary response`() async throws {
        let origin = try await OriginServer.start { _ in Raw.response("426 Upgrade Required") }
        try await DaemonHarness.run(channels: UpgradeStory.channel(origin)) { proxy in
            let app = try await proxy.connect()
            for _ in 1...2 {
                try await app.send(UpgradeStory.ask)
                #expect(try await app.message().status == 426)
            }
            #expect(origin.connections.count == 1)
        }
    }

    /// Content in each framing: the fields, and the bytes after the head.
    private static let framings: [(fields: [String], content: String)] = [
        (["Content-Length: 5"], "hello"),
        (["Transfer-Encoding: chunked"], "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"),
        (["Content-Length: 5", "Expect: 100-continue"], "hello"),
        (["Transfer-Encoding: chunked", "Expect: 100-continue"], "5\r\nhello\r\n0\r\n\r\n"),
    ]

    @Test(arguments: framings.indices, [200, 0])
    func `an upgrade with content switches after the content`(
        framing: Int,
        pause: Int
    ) async throws {
        let (fields, content) = UpgradeStory.framings[framing]
        let origin = try await UpgradeStory.echo()
        try await DaemonHarness.run(channels: UpgradeStory.channel(origin)) { proxy in
            let app = try await proxy.connect()
            let upgrade = ["Connection: Upgrade", "Upgrade: websocket"]
            let head = Raw.request("POST", "/chat/1", fields: upgrade + fields)
            if pause > 0 {
                // The content does not arrive with the head.
                try await app.send(head)
                await proxy.advance(by: .milliseconds(pause))
                try await app.send(content + "early;")
            } else {
                try await app.send(head + content + "early;")
            }
            var answer = try await app.message(.none)
            if answer.status == 100 { answer = try await app.message(.none) }
            #expect(answer.status == 101)
            try await app.read(through: "welcome;EARLY;")
            #expect(origin.requests.first?.body == "hello")
            try await app.finishWriting()
            try await app.rest()
            #expect(try await proxy.onlyLine("chat").facts.bytesIn == 11)
        }
    }

    @Test func `a 101 before the end of the content switches after it`() async throws {
        let switched = Gate()
        let origin = try await OriginServer.start { wire in
            _ = try await wire.read(through: "\r\n\r\n")
            try await wire.send(UpgradeStory.agree)
            switched.open()
            try await wire.read(through: "0\r\n\r\n")
            try await wire.send("whole;")
            try await wire.send(try await wire.read(through: ";").uppercased())
        }
        try await DaemonHarness.run(channels: UpgradeStory.channel(origin)) { proxy in
            let app = try await proxy.connect()
            let fields = [
                "Connection: Upgrade", "Upgrade: websocket", "Transfer-Encoding: chunked",
            ]
            try await app.send(Raw.request("POST", "/chat/1", fields: fields) + "5\r\nhello\r\n")
            await proxy.advance(by: .milliseconds(200))
            try await switched.wait()
            try await app.send("0\r\n\r\nearly;")
            #expect(try await app.message(.none).status == 101)
            try await app.read(through: "whole;EARLY;")
        }
    }

    @Test func `a declined upgrade with content gets an ordinary response`() async throws {
        let origin = try await OriginServer.start { request in Raw.ok(request.body) }
        try await DaemonHarness.run(channels: UpgradeStory.channel(origin)) { proxy in
            let app = try await proxy.connect()
            for _ in 1...2 {
                try await app.send(
                    Raw.post("/chat/1", body: "hello", "Connection: Upgrade", "Upgrade: tcp")
                )
                #expect(try await app.message().body == "hello")
            }
        }
    }

    @Test func `a 426 keeps the required protocols`() async throws {
        let origin = try await OriginServer.start { _ in
            Raw.response(
                "426 Upgrade Required",
                fields: ["Connection: Upgrade", "Upgrade: TLS/1.2", "Upgrade: HTTP/2.0"]
            )
        }
        try await DaemonHarness.run(channels: UpgradeStory.channel(origin)) { proxy in
            let answer = try await proxy.exchange(Raw.get("/chat/1"))
            #expect(answer.status == 426)
            #expect(answer["Upgrade"] == "TLS/1.2, HTTP/2.0")
            #expect(answer.values("Connection").contains("Upgrade"))
        }
    }

    @Test(arguments: [
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    ])
    func `a switch to a protocol that was not offered is 502`(answer: String) async throws {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send(answer)
            try await wire.rest()
        }
        try await DaemonHarness.run(channels: UpgradeStory.channel(origin)) { proxy in
            let answer = try await proxy.exchange(UpgradeStory.ask)
            #expect(answer.status == 502)
            #expect(answer["Proxy-Status"] == "netproxy; error=http_protocol_error")
        }
    }

    @Test func `an idle tunnel ends`() async throws {
        let origin = try await UpgradeStory.echo()
        // Waits for a timeout of 100 ms.
        try await DaemonHarness.run(
            channels: UpgradeStory.channel(origin, ", timeouts: { idle: 100ms }")
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(UpgradeStory.ask)
            try await app.read(through: "welcome;")
            try await app.rest()
            try await origin.connections[0].closed.wait()
            let facts = try await proxy.onlyLine("chat").facts
            #expect(facts.status == 101)
            #expect(facts.error == "connection_read_timeout")
            #expect(facts.abortedBy == "proxy")
        }
    }

    @Test func `a tunnel with traffic in one direction stays open`() async throws {
        let gates = [Gate(), Gate(), Gate()]
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send(UpgradeStory.agree)
            for gate in gates {
                try await gate.wait()
                try await wire.send("tick;")
            }
            try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: UpgradeStory.channel(origin, ", timeouts: { idle: 10s }")
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(UpgradeStory.ask)
            _ = try await app.message(.none)
            for gate in gates {
                await proxy.advance(by: .seconds(6))
                gate.open()
                try await app.read(through: "tick;")
            }
        }
    }

    @Test func `a tunnel may continue until the end of the drain`() async throws {
        let origin = try await UpgradeStory.echo()
        // Waits for a drain of 200 ms.
        try await DaemonHarness.run(
            channels: UpgradeStory.channel(origin),
            root: "drain: 200ms"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(UpgradeStory.ask)
            try await app.read(through: "welcome;")
            async let stopped: Void = proxy.stop()
            #expect(await proxy.tells("draining"))
            try await app.send("still here;")
            try await app.read(through: "STILL HERE;")
            try await app.rest()
            await stopped
            let facts = try await proxy.onlyLine("chat").facts
            #expect(facts.status == 101)
            #expect(facts.abortedBy == "proxy")
        }
    }

    @Test func `an upstream that breaks a tunnel resets the client`() async throws {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send(UpgradeStory.agree)
            try await wire.read(through: "now;")
            try await wire.reset()
        }
        try await DaemonHarness.run(channels: UpgradeStory.channel(origin)) { proxy in
            let app = try await proxy.connect()
            try await app.send(UpgradeStory.ask)
            _ = try await app.message(.none)
            try await app.send("now;")
            #expect(try await app.rest().end == .reset)
            let facts = try await proxy.onlyLine("chat").facts
            #expect(facts.error == "connection_terminated")
            #expect(facts.abortedBy == "upstream")
        }
    }

    @Test func `a tunnel that the client breaks is logged as aborted by the client`() async throws {
        let origin = try await UpgradeStory.echo()
        try await DaemonHarness.run(channels: UpgradeStory.channel(origin)) { proxy in
            let app = try await proxy.connect()
            try await app.send(UpgradeStory.ask)
            try await app.read(through: "welcome;")
            try await app.reset()
            try await origin.connections[0].closed.wait()
            let facts = try await proxy.onlyLine("chat").facts
            #expect(facts.status == 101)
            #expect(facts.error == nil)
            #expect(facts.abortedBy == "client")
        }
    }

    @Test func `a reader that stops blocks the writer`() async throws {
        let (moved, isFull) = (Counter(), Gate())
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send(UpgradeStory.agree)
            let piece = String(repeating: "x", count: 64 * 1024)
            moved.add(try await wire.flood(piece, upTo: 256 << 20))
            isFull.open()
            try await wire.rest()
        }
        try await DaemonHarness.run(channels: UpgradeStory.channel(origin)) { proxy in
            let app = try await proxy.connect()
            try await app.send(UpgradeStory.ask)
            // Unread bytes stay in the system's buffers, a few MiB at most.
            try await isFull.wait()
            #expect(moved.value < 32 << 20)
            try await app.close()
            try await origin.connections[0].closed.wait()
        }
    }
}
