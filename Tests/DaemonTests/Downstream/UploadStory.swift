import TestSupport
import Testing

@Suite struct UploadStory {
    @Test func `a response before the end of an upload reaches the client`() async throws {
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "part")
            try await wire.send(Raw.response("413 Content Too Large", body: "no"))
            try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\npart"
            )
            let answer = try await app.message()
            #expect(answer.status == 413)
            #expect(answer.body == "no")
            #expect(answer["Connection"] == "close")
        }
    }

    @Test func `pieces of one byte arrive exactly once`() async throws {
        let origin = try await OriginServer.start { Raw.ok($0.body) }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let answer = try await proxy.exchange(
                Raw.request("POST", "/orders/1", fields: ["Transfer-Encoding: chunked"])
                    + "1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n"
            )
            #expect(answer.body == "abc")
        }
    }

    @Test(arguments: [("/orders/1", 413), ("/nobody", 404)])
    func `a client that sends a long upload before it reads gets the response`(
        target: String,
        status: Int
    ) async throws {
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "\r\n\r\n")
            try await wire.send(Raw.response("413 Content Too Large", body: "no"))
            try await wire.close()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            // More than all buffers on the way can hold.
            let length = 64 << 20
            try await app.send(
                "POST \(target) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(length)\r\n\r\n"
            )
            let piece = String(repeating: "x", count: 1 << 20)
            #expect(try await app.flood(piece, upTo: length) == length)
            #expect(try await app.message().status == status)
            #expect(try await app.rest().end == .closed)
        }
    }

    @Test(arguments: [true, false])
    func `an origin may read and respond at the same time`(_ isChunked: Bool) async throws {
        let origin = try await OriginServer.start { wire in
            let head = try await wire.read(through: "part one")
            #expect(head.hasPrefix("POST /1 "))
            try await wire.send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none,\r\n"
            )
            try await wire.read(through: isChunked ? "part two\r\n0\r\n\r\n" : "part two")
            try await wire.send("3\r\ntwo\r\n0\r\n\r\n")
            // The connection still works.
            try await wire.read(through: "GET /2 ")
            try await wire.read(through: "\r\n\r\n")
            try await wire.send(Raw.ok("next"))
            _ = try await wire.next()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\n"
                    + (isChunked
                        ? "Transfer-Encoding: chunked\r\n\r\n8\r\npart one\r\n"
                        : "Content-Length: 16\r\n\r\npart one")
            )
            let begin = try await app.read(through: "one,")
            #expect(begin.hasPrefix("HTTP/1.1 200 OK\r\n"))
            try await app.send(isChunked ? "8\r\npart two\r\n0\r\n\r\n" : "part two")
            #expect(try await app.rest().text.hasSuffix("two\r\n0\r\n\r\n"))
            let next = try await proxy.exchange(Raw.get("/orders/2"))
            #expect(next.body == "next")
            #expect(origin.connections.count == 1)
            let facts = try #require(try await proxy.log("orders").first).facts
            #expect(facts.bytesIn == 16)
            #expect(facts.bytesOut == 7)
        }
    }

    /// Starts an origin that responds before it has read the body, and ends its response on a signal, or
    /// never.
    private func earlyOrigin(
        _ ending: Gate? = nil,
        reading last: String? = nil
    ) async throws -> OriginServer {
        try await OriginServer.start { wire in
            try await wire.read(through: "part")
            try await wire.send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none,\r\n"
            )
            if let last { try await wire.read(through: last) }
            if let ending {
                try await ending.wait()
                try await wire.send("3\r\ntwo\r\n0\r\n\r\n")
            }
            try await wire.rest()
        }
    }

    private func begin(_ app: Wire, length: Int) async throws {
        try await app.send(
            "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(length)\r\n\r\npart"
        )
        try await app.read(through: "one,")
    }

    @Test func `a response continues although its origin does not read the upload`() async throws {
        let ending = Gate()
        let origin = try await earlyOrigin(ending)
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await begin(app, length: 1_000_000_000)
            let piece = String(repeating: "x", count: 1 << 16)
            #expect(try await app.flood(piece, upTo: 1 << 28) < 1 << 28)
            await proxy.advance(by: .seconds(59))
            ending.open()
            await proxy.advance(by: .seconds(2))
            #expect(try await app.rest().text.contains("two\r\n0\r\n\r\n"))
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.status == 200)
            #expect(facts.error == nil)
        }
    }

    @Test func `a response may pause while the upload progresses`() async throws {
        let ending = Gate()
        let origin = try await earlyOrigin(ending, reading: "partdone")
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }",
            root: "limits: { head_timeout: 1h }",
            bodyRate: 240
        ) { proxy in
            let app = try await proxy.connect()
            try await begin(app, length: 12)
            for piece in ["par", "tdone"] {
                // Longer than the limit for a slow client, and longer in total than the limit for an origin.
                await proxy.advance(by: .seconds(40))
                try await app.send(piece)
                #expect(await eventually { origin.connections[0].received.hasSuffix(piece) })
            }
            ending.open()
            #expect(try await app.rest().text.hasSuffix("two\r\n0\r\n\r\n"))
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.status == 200)
            #expect(facts.bytesIn == 12)
            #expect(facts.error == nil)
        }
    }

    @Test func `a client that disconnects during an upload and its response ends both upstream`()
        async throws
    {
        let origin = try await earlyOrigin()
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await begin(app, length: 1000)
            try await app.close()
            try await origin.connections[0].closed.wait()
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.status == 200)
            #expect(facts.abortedBy == "client")
        }
    }

    @Test func `a malformed end of an upload cuts the response in progress`() async throws {
        let origin = try await earlyOrigin()
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "4\r\npart\r\n"
            )
            try await app.read(through: "one")
            try await app.send("no chunk\r\n")
            #expect(try await app.rest().end == .reset)
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.status == 200)
            #expect(facts.error == "http_request_error")
        }
    }

    @Test func `a refusal does not wait for an unread upload`() async throws {
        let flooded = Gate()
        let over = Gate()
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "\r\n\r\n")
            try await flooded.wait()
            try await wire.send(Raw.response("413 Content Too Large", body: "no"))
            // The origin neither reads nor closes.
            try await over.wait()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n"
            )
            let piece = String(repeating: "x", count: 1 << 16)
            let sent = try await app.flood(piece, upTo: 1 << 28)
            #expect(sent < 1 << 28)
            flooded.open()
            let answer = try await app.message()
            #expect(answer.status == 413)
            #expect(answer.body == "no")
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.status == 413)
            #expect(facts.abortedBy == nil)
            over.open()
        }
    }

    @Test func `the body waits until the origin requests it`() async throws {
        let asked = Gate()
        let origin = try await OriginServer.start { wire in
            let head = try await wire.read(through: "\r\n\r\n")
            #expect(head.lowercased().contains("expect: 100-continue"))
            asked.open()
            try await wire.send("HTTP/1.1 100 Continue\r\n\r\n")
            try await wire.read(through: "hello")
            try await wire.send(Raw.ok())
            _ = try await wire.next()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
                    + "Expect: 100-continue\r\n\r\n"
            )
            try await asked.wait()
            #expect(try await app.message(.none).status == 100)
            try await app.send("hello")
            #expect(try await app.message().status == 200)
        }
    }

    @Test func `no body is sent to an origin that refuses the expectation`() async throws {
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "\r\n\r\n")
            try await wire.send(Raw.response("417 Expectation Failed"))
            try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
                    + "Expect: 100-continue\r\n\r\n"
            )
            #expect(try await app.message().status == 417)
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.bytesIn == 0)
        }
    }

    @Test func `a client that disconnects during its upload is logged as 499`() async throws {
        let (begun, ended) = (Gate(), Gate())
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "part")
            begun.open()
            try await wire.rest()
            ended.open()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\npart"
            )
            try await begun.wait()
            try await app.reset()
            try await ended.wait()
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.status == 499)
            #expect(facts.abortedBy == "client")
        }
    }
}
