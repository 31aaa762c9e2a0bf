import TestSupport
import Testing

@Suite struct StreamingStory {
    @Test func `the chunks of a response arrive as sent`() async throws {
        let wanted = Gate()
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n"
            )
            try await wanted.wait()
            try await wire.send("3\r\ntwo\r\n0\r\n\r\n")
            _ = try await wire.next()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            // The second chunk is written only after the first one was read.
            try await app.read(through: "3\r\none\r\n")
            wanted.open()
            try await app.read(through: "3\r\ntwo\r\n0\r\n\r\n")
            #expect(try await proxy.onlyLine("orders").facts.bytesOut == 6)
        }
    }

    @Test func `the chunks of a request are forwarded as they arrive`() async throws {
        let seen = Gate()
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "3\r\none\r\n")
            seen.open()
            try await wire.read(through: "3\r\ntwo\r\n0\r\n\r\n")
            try await wire.send(Raw.ok())
            _ = try await wire.next()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "3\r\none\r\n"
            )
            try await seen.wait()
            try await app.send("3\r\ntwo\r\n0\r\n\r\n")
            #expect(try await app.message().status == 200)
            #expect(try await proxy.onlyLine("orders").facts.bytesIn == 6)
        }
    }

    @Test func `a large body arrives completely in both directions`() async throws {
        let body = String(repeating: "0123456789abcdef", count: 64 * 1024)
        let origin = try await OriginServer.start { Raw.ok($0.body) }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let answer = try await proxy.exchange(Raw.post("/orders/1", body: body))
            #expect(answer.body == body)
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.bytesIn == body.utf8.count)
            #expect(facts.bytesOut == body.utf8.count)
        }
    }

    @Test(arguments: ["HEAD", "GET"])
    func `a response without content is forwarded without content`(method: String) async throws {
        let status = method == "HEAD" ? "200 OK" : "304 Not Modified"
        let origin = try await OriginServer.start { wire in
            while try await wire.next() != nil {
                try await wire.send("HTTP/1.1 \(status)\r\nContent-Length: 5\r\nETag: x\r\n\r\n")
            }
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            for _ in 1...2 {
                try await app.send(Raw.request(method, "/orders/1"))
                let answer = try await app.message(.none)
                #expect(answer.startLine == "HTTP/1.1 \(status)")
                #expect(answer["Content-Length"] == "5")
            }
        }
    }

    @Test func `a 204 response has neither content nor a length`() async throws {
        let origin = try await OriginServer.start { _ in "HTTP/1.1 204 No Content\r\n\r\n" }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            for _ in 1...2 {
                try await app.send(Raw.get("/orders/1"))
                let answer = try await app.message(.none)
                #expect(answer.status == 204)
                #expect(answer.values("Content-Length").isEmpty)
                #expect(answer.values("Transfer-Encoding").isEmpty)
            }
        }
    }
}
