import TestSupport
import Testing

@Suite struct MalformedRequestStory {
    static let table: [(raw: String, status: Int)] = [
        ("GET /orders/1 HTTP/1.1\r\n\r\n", 400),
        ("GET /orders/1 HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
        ("GET /orders/1 HTTP/1.1\nHost: localhost\n\n", 400),
        ("GET /orders/1 HTTP/1.1\r\nHost : localhost\r\n\r\n", 400),
        ("POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n\r\nhello", 400),
        (
            "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400
        ),
        (
            "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", 501
        ),
        ("GET /orders/1 HTTP/2.0\r\nHost: localhost\r\n\r\n", 505),
        ("GET /\(String(repeating: "x", count: 9000)) HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
        (
            "GET / HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "x", count: 17_000))\r\n\r\n",
            431
        ),
    ]

    @Test(arguments: table)
    func `a malformed request is refused and the connection closes`(
        raw: String,
        status: Int
    ) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(raw)
            let answer = try await app.message()
            #expect(answer.status == status)
            #expect(answer["Proxy-Status"] == "netproxy; error=http_request_error")
            #expect(answer["Connection"] == "close")
            try await app.finishWriting()
            #expect(try await app.rest().end == .closed)
            #expect(origin.connections.isEmpty)
            let facts = try await proxy.onlyLine("netproxy").facts
            #expect(facts.status == status)
            #expect(facts.error == "http_request_error")
        }
    }

    /// RFC 9110 §9.3.2: the client reads no content here, and would parse it as the next response.
    @Test(arguments: [
        "HEAD /orders/1 HTTP/1.1\r\nHost: 127.1\r\n\r\n", "\r\nHEAD /orders/1 HTTP/1.1\r\n\r\n",
    ])
    func `the refusal of a malformed HEAD has no content`(raw: String) async throws {
        try await DaemonHarness.run(channels: "orders: { upstream: http://127.0.0.1:1 }") { proxy in
            let app = try await proxy.connect()
            try await app.send(raw)
            let answer = try await app.message(.none)
            #expect(answer.status == 400)
            #expect(answer["Content-Length"] != nil)
            try await app.finishWriting()
            let rest = try await app.rest()
            #expect(rest.text.isEmpty)
            #expect(rest.end == .closed)
        }
    }

    @Test func `an invalid chunk size ends the exchange with 400`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let answer = try await proxy.exchange(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n"
            )
            #expect(answer.status == 400)
            #expect(answer["Connection"] == "close")
            #expect(origin.requests.isEmpty)
        }
    }
}
