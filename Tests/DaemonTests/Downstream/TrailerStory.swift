import TestSupport
import Testing

@Suite struct TrailerStory {
    private static let answer =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Checksum\r\n\r\n"
        + "5\r\nhello\r\n0\r\nChecksum: abc\r\nSet-Cookie: a=b\r\nAuthorization: x\r\n\r\n"

    @Test(arguments: [
        ["TE: trailers", "Connection: TE"], ["TE: deflate;q=0.5, Trailers"],
    ])
    func `a client with TE trailers gets trailers`(fields: [String]) async throws {
        let origin = try await OriginServer.start { _ in TrailerStory.answer }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.request("GET", "/orders/1", fields: fields))
            let text = try await app.read(through: "\r\n0\r\nChecksum: abc\r\n\r\n")
            #expect(text.contains("Trailer: Checksum\r\n"))
            let request = try #require(origin.requests.first)
            #expect(request["TE"] == "trailers")
            #expect(request["Connection"] == "TE")
            // Forbidden trailer fields are removed, and the connection stays open.
            try await app.send(Raw.get("/orders/2"))
            #expect(try await app.message().body == "hello")
        }
    }

    @Test(arguments: [[], ["TE: gzip"]])
    func `other clients get no trailers`(fields: [String]) async throws {
        let origin = try await OriginServer.start { _ in TrailerStory.answer }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.request("GET", "/orders/1", fields: fields))
            try await app.read(through: "5\r\nhello\r\n0\r\n\r\n")
            #expect(origin.requests.first?.values("TE").isEmpty == true)
        }
    }

    @Test func `trailers of a request are dropped`() async throws {
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "hello")
            try await wire.send(Raw.ok())
            _ = try await wire.next()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
                    + "Trailer: X-Late\r\n\r\n5\r\nhello\r\n0\r\nX-Late: 1\r\nAuthorization: x\r\n\r\n"
            )
            #expect(try await app.message().status == 200)
            #expect(!origin.connections[0].received.contains("X-Late"))
            #expect(!origin.connections[0].received.contains("Authorization"))
        }
    }
}
