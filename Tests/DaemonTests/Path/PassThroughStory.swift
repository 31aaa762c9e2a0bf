import TestSupport
import Testing

/// Messages and fields that pass unchanged.
@Suite struct PassThroughStory {
    @Test func `range, conditional, cache and coding fields pass in both directions`() async throws
    {
        let asked = [
            "Range: bytes=0-3", "If-Range: \"abc\"", "If-None-Match: W/\"x\", \"y\"",
            "If-Match: *", "If-Modified-Since: Sat, 29 Oct 1994 19:43:31 GMT",
            "Cache-Control: no-cache, max-age=0", "Pragma: no-cache",
            "Accept-Encoding: gzip;q=1.0, identity; q=0.5, *;q=0", "Accept: */*",
            "Cookie: a=b; c=d", "Cookie: e=f",
        ]
        let answered = [
            "Content-Range: bytes 0-3/10", "Accept-Ranges: bytes", "ETag: W/\"x\"",
            "Last-Modified: Sat, 29 Oct 1994 19:43:31 GMT", "Age: 12", "Vary: Accept-Encoding, *",
            "Cache-Control: public, s-maxage=60", "Expires: 0", "Content-Encoding: br, gzip",
            "Content-Type: application/x-thing; a=\"b\"", "Location: http://elsewhere.example/",
            "Warning: 110 - \"Stale\"",
        ]
        let origin = try await OriginServer.start(answering: { _ in
            Raw.response("206 Partial Content", fields: answered, body: "\u{1f}\u{08}xx")
        })
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let answer = try await proxy.exchange(
                Raw.request("GET", "/orders/1", fields: asked)
            )
            let request = try #require(origin.requests.first)
            #expect(
                PassThroughStory.lines(request).starts(
                    with: ["Host: 127.0.0.1:\(origin.port)"] + asked
                )
            )
            #expect(answer.startLine == "HTTP/1.1 206 Partial Content")
            #expect(PassThroughStory.lines(answer).starts(with: answered))
            #expect(answer.body == "\u{1f}\u{08}xx")
        }
    }

    private static func lines(_ message: RawMessage) -> [String] {
        message.fields.map { "\($0.name): \($0.value)" }
    }

    @Test func `a response keeps its Date, or gets one`() async throws {
        let dated = "Date: Sat, 29 Oct 1994 19:43:31 GMT"
        let origin = try await OriginServer.start(answering: { request in
            Raw.response("200 OK", fields: request.startLine.contains("/old") ? [dated] : [])
        })
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let old = try await proxy.exchange(Raw.get("/orders/old"))
            #expect(PassThroughStory.lines(old).filter { $0.hasPrefix("Date") } == [dated])
            for path in ["/orders/new", "/nowhere"] {
                let answer = try await proxy.exchange(Raw.get(path))
                #expect(answer.values("Date").count == 1)
                #expect(answer["Date"]?.hasSuffix(" GMT") == true)
            }
        }
    }

    @Test func `a response head may be longer than a request head`() async throws {
        let long = "X-Long: " + String(repeating: "y", count: 40_000)
        let fields = (0..<200).map { "X-Field-\($0): x" } + [long]
        let origin = try await OriginServer.start(answering: { _ in
            Raw.response("200 OK", fields: fields)
        })
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(PassThroughStory.lines(answer).starts(with: fields))
        }
    }

    @Test func `no field about the client is added`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/1"))
            _ = try await proxy.exchange(Raw.get("/orders/1", "X-Forwarded-For: 10.0.0.1"))
            let names = origin.requests.map { $0.fields.map { $0.name.lowercased() } }
            #expect(
                names == [
                    ["host", "x-request-id", "user-agent"],
                    ["host", "x-forwarded-for", "x-request-id", "user-agent"],
                ]
            )
        }
    }

    @Test func `redirects are returned to the client`() async throws {
        let origin = try await OriginServer.start { _ in
            Raw.response("307 Temporary Redirect", fields: ["Location: /elsewhere"])
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let answer = try await proxy.exchange(Raw.post("/orders/1", body: "x"))
            #expect(answer.status == 307)
            #expect(answer["Location"] == "/elsewhere")
            #expect(origin.requests.count == 1)
        }
    }

    @Test(arguments: ["GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "X-MINE"])
    func `content is forwarded for any method`(method: String) async throws {
        let origin = try await OriginServer.start { wire in
            while let request = try await wire.next() {
                let length = request.body.utf8.count
                let content = request.startLine.hasPrefix("HEAD") ? "" : request.body
                try await wire.send(
                    "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n\(content)"
                )
            }
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            let content = "GET /orders/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
            try await app.send(Raw.request(method, "/orders/1", body: content))
            try await app.send(Raw.get("/orders/2"))
            let first = try await app.message(method == "HEAD" ? .none : .asFramed)
            #expect(first["Content-Length"] == "\(content.utf8.count)")
            if method != "HEAD" { #expect(first.body == content) }
            #expect(try await app.message().status == 200)
            #expect(
                origin.requests.map(\.startLine) == ["\(method) /1 HTTP/1.1", "GET /2 HTTP/1.1"]
            )
        }
    }

    @Test func `an HTTP 1-0 client may keep its connection`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port), headers: { via: on } }"
        ) { proxy in
            let app = try await proxy.connect()
            for _ in 1...2 {
                try await app.send(
                    "GET /orders/1 HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n"
                )
                let answer = try await app.message()
                #expect(answer.body == "hello")
                #expect(answer["Connection"] == "keep-alive")
            }
            try await app.send("GET /orders/1 HTTP/1.0\r\nHost: localhost\r\n\r\n")
            #expect(try await app.message()["Connection"] == "close")
            #expect(try await app.rest().end == .closed)
            let vias = origin.requests.compactMap { $0["Via"]?.prefix(4) }
            #expect(vias == ["1.0 ", "1.0 ", "1.0 "])
        }
    }

    @Test func `an HTTP 1-0 client gets a chunked response until the end of the connection`()
        async throws
    {
        let origin = try await OriginServer.start { _ in
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "GET /orders/1 HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n"
            )
            let (text, end) = try await app.rest()
            #expect(text.hasSuffix("\r\n\r\nonetwo"))
            #expect(!text.contains("Transfer-Encoding"))
            #expect(text.contains("Connection: close\r\n"))
            #expect(end == .closed)
        }
    }
}
