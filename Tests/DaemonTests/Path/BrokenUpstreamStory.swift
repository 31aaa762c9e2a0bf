import TestSupport
import Testing

@Suite struct BrokenUpstreamStory {
    @Test func `an upstream that refuses connections causes 502`() async throws {
        let port = RefusingPort.any()
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(port), retry: { attempts: 0 } }"
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 502)
            #expect(answer["Proxy-Status"] == "netproxy; error=connection_refused")
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.error == "connection_refused")
            #expect(facts.level == "error")
        }
    }

    @Test func `an upstream that does not respond causes 504`() async throws {
        let origin = try await OriginServer.start { wire in try await wire.rest() }
        // Waits for a timeout of 50 ms.
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  timeouts: { response: 50ms }
                """
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 504)
            #expect(answer["Proxy-Status"] == "netproxy; error=http_response_timeout")
            #expect(try await proxy.onlyLine("orders").facts.error == "http_response_timeout")
        }
    }

    @Test func `an exchange beyond its total timeout is 504`() async throws {
        let origin = try await OriginServer.start { wire in try await wire.rest() }
        // Waits for a timeout of 50 ms.
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  timeouts: { total: 50ms }
                """
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 504)
            #expect(answer["Proxy-Status"] == "netproxy; error=http_response_timeout")
            #expect(try await proxy.onlyLine("orders").facts.attempts == 1)
        }
    }

    /// The behavior of an upstream after its head.
    enum Rest: CaseIterable {
        case silence, pieces
    }

    @Test(arguments: Rest.allCases)
    func `content beyond the total timeout is cut, whether it arrives or not`(rest: Rest)
        async throws
    {
        // Short, so that the reader receives little content in this time.
        let piece = "40\r\n" + String(repeating: "x", count: 0x40) + "\r\n"
        let origin = try await OriginServer.start { wire in
            _ = try await wire.next()
            try await wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + piece)
            // Ends when its connection is closed.
            while rest == .pieces { try await wire.send(piece) }
            _ = try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  timeouts: { total: 200ms, idle: 1h }
                """
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            #expect(try await app.rest().text.hasPrefix("HTTP/1.1 200 OK"))
            let facts = try await proxy.onlyLine("orders").facts
            #expect((facts.status, facts.error) == (200, "http_response_timeout"))
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\n X: a\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    ])
    func `a malformed response causes 502, and its connection is not reused`(
        raw: String
    ) async throws {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send(wire.number == 0 ? raw : Raw.ok())
            try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.post("/orders/1", body: "x"))
            let answer = try await app.message()
            #expect(answer.status == 502)
            #expect(answer["Proxy-Status"] == "netproxy; error=http_protocol_error")
            try await app.send(Raw.get("/orders/2"))
            #expect(try await app.message().status == 200)
            #expect(origin.connections.count == 2)
        }
    }

    @Test func `a response of an old server is repaired`() async throws {
        let origin = try await OriginServer.start { _ in
            "HTTP/1.1 200 OK\r\nX-Note: one\r\n two\r\nX-Old : a\r\nContent-Length: 5, 5\r\n"
                + "Content-Length: 5\r\n\r\nhello"
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            for _ in 0..<2 {
                let answer = try await proxy.exchange(Raw.get("/orders/1"))
                #expect(answer.status == 200 && answer.body == "hello")
                #expect(answer["X-Note"] == "one two" && answer["X-Old"] == "a")
                #expect(answer.values("Content-Length") == ["5"])
            }
            #expect(origin.connections.count == 1)
        }
    }

    enum Cut: CaseIterable { case resetInLength, closeInLength, closeInChunks, resetUntilClose }

    @Test(arguments: Cut.allCases)
    func `an incomplete response is incomplete for the client`(cut: Cut) async throws {
        let arrived = Gate()
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            switch cut {
            case .resetInLength, .closeInLength:
                try await wire.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npart")
            case .closeInChunks:
                try await wire.send(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n"
                )
            case .resetUntilClose: try await wire.send("HTTP/1.1 200 OK\r\n\r\npart")
            }
            try await arrived.wait()
            if cut == .resetInLength || cut == .resetUntilClose { try await wire.reset() }
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            try await app.read(through: "part")
            arrived.open()
            let (text, end) = try await app.rest()
            #expect(!text.contains("0\r\n\r\n"))
            #expect(end == .reset)
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.error == "http_response_incomplete")
            #expect(facts.abortedBy == "upstream")
            #expect(facts.bytesOut == 4)
        }
    }

    @Test func `a stalled body is cut after the idle timeout`() async throws {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npart")
            try await wire.rest()
        }
        // Waits for a timeout of 300 ms: the first part must be read before the cut.
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  timeouts: { idle: 300ms }
                """
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            try await app.read(through: "part")
            #expect(try await app.rest().end == .reset)
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.error == "connection_read_timeout")
            #expect(facts.abortedBy == "proxy")
        }
    }

    @Test(arguments: [true, false])
    func `a client that disconnects ends its upstream connection`(isReset: Bool) async throws {
        let asked = Gate()
        let ended = Gate()
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            asked.open()
            try await wire.rest()
            ended.open()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            try await asked.wait()
            if isReset { try await app.reset() } else { try await app.close() }
            try await ended.wait()
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.status == 499)
            #expect(facts.abortedBy == "client")
        }
    }
}
