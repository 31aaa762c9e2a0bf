import OriginTransport
import TestSupport
import Testing

/// 1xx responses before the final one.
@Suite struct InterimStory {
    private static let hints =
        "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\n"

    private static func story(
        _ interim: String,
        _ story: (DaemonHarness) async throws -> Void
    ) async throws {
        let origin = try await OriginServer.start(answering: { _ in interim + Raw.ok() })
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port), headers: { via: on } }",
            story
        )
    }

    @Test func `early hints reach the client`() async throws {
        try await InterimStory.story(InterimStory.hints + "HTTP/1.1 102 Processing\r\n\r\n") {
            proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            let hints = try await app.message(.none)
            #expect(hints.startLine == "HTTP/1.1 103 Early Hints")
            #expect(hints["Link"] == "</a.css>; rel=preload")
            #expect(hints["Via"]?.hasPrefix("1.1 netproxy-") == true)
            #expect(hints.values("X-Hop").isEmpty)
            #expect(hints.values("Connection").isEmpty)
            #expect(try await app.message(.none).status == 102)
            #expect(try await app.message().body == "hello")
        }
    }

    @Test func `an unexpected 100 is not forwarded`() async throws {
        try await InterimStory.story("HTTP/1.1 100 Continue\r\n\r\n") { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 200)
        }
    }

    @Test func `an HTTP 1-0 client gets only the final response`() async throws {
        try await InterimStory.story(InterimStory.hints) { proxy in
            let app = try await proxy.connect()
            try await app.send("GET /orders/1 HTTP/1.0\r\nHost: localhost\r\n\r\n")
            #expect(try await app.message().status == 200)
        }
    }

    @Test(arguments: [("1.1", ["103", "200"]), ("1.0", ["200"])])
    func `early hints reach the client without a channel`(
        version: String,
        statuses: [String]
    ) async throws {
        let origin = try await OriginServer.start { _ in InterimStory.hints + Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: https://api.example }",
            root: "unmatched: forward",
            destinations: .any
        ) { proxy in
            let authority = "127.0.0.1:\(origin.port)"
            let app = try await proxy.connect()
            try await app.send(
                "GET http://\(authority)/ HTTP/\(version)\r\nHost: \(authority)\r\n"
                    + "Connection: close\r\n\r\n"
            )
            let lines = try await app.rest().text.split(separator: "\r\n")
            let found = lines.filter { $0.hasPrefix("HTTP/1.1 ") }
            #expect(found.map { String($0.dropFirst(9).prefix(3)) } == statuses)
        }
    }

    @Test func `too many interim responses cause 502`() async throws {
        let flood = String(repeating: InterimStory.hints, count: 100)
        try await InterimStory.story(flood) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1", "Connection: close"))
            let answer = try await app.rest().text
            #expect(answer.split(separator: "103 Early Hints").count < 20)
            #expect(answer.contains("HTTP/1.1 502 Bad Gateway\r\n"))
            #expect(answer.contains("error=http_protocol_error"))
        }
    }

    @Test func `a connection that ends after an interim response is not stale`() async throws {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send(Raw.ok())
            _ = try await wire.message()
            try await wire.send(InterimStory.hints)
        }
        let upstream = "http://127.0.0.1:\(origin.port)"
        try await DaemonHarness.run(
            channels: "orders: { upstream: \(upstream), retry: { attempts: 0 } }"
        ) { proxy in
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/2", "Connection: close"))
            #expect(try await app.rest().text.contains("error=connection_terminated"))
            #expect(origin.connections.count == 1)
        }
    }
}
