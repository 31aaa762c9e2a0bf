import NetproxyHTTP2
import NetproxyHTTPMessage
import TestSupport
import Testing

/// APIs that repeat the credential of a request in the response.
@Suite struct EchoStory {
    private static let secret = "c4nary-S3cret/+"
    private static let mark = "%7Bcredential%7D"

    /// The authentications of a channel and the base path of its upstream.
    private static let places = [
        ("bearer: 'literal:\(secret)'", "/v1"),
        ("bearer: 'literal:\(secret)', in: query, name: api_key", "/v1"),
        ("bearer: 'literal:\(secret)', in: path", "/bot{credential}"),
        ("basic: { username: me, password: 'literal:\(secret)' }", "/v1"),
        ("header: { name: X-Api-Key, value: 'literal:\(secret)' }", "/v1"),
    ]

    private func story(
        _ auth: String,
        base: String = "/v1",
        _ keys: String = "",
        answer: @escaping @Sendable (RawMessage) -> String,
        _ story: (DaemonHarness) async throws -> Void
    ) async throws {
        let origin = try await OriginServer.start(answering: answer)
        try await DaemonHarness.run(
            channels: """
                api:
                  upstream: 'http://127.0.0.1:\(origin.port)\(base)'
                  auth: { \(auth) }
                  \(keys)
                """,
            story
        )
    }

    /// Returns all of a request's text that contains the credential.
    private static func echo(_ request: RawMessage) -> String {
        let fields = ["Authorization", "X-Api-Key"].compactMap { request[$0] }
        return ([request.startLine] + fields).joined(separator: " ")
    }

    private static func shows(_ text: String) -> Bool {
        text.contains("c4nary") || text.contains("bWU6YzRuYXJ5")
    }

    @Test(arguments: places)
    func `fields of interim, final and refused responses do not contain the credential`(
        auth: String,
        base: String
    ) async throws {
        for status in ["200 OK", "308 Permanent Redirect", "401 Unauthorized", "502 Bad Gateway"] {
            try await story(auth, base: base, "log: { headers: [X-Echo] }") { request in
                let echo = "X-Echo: \(Self.echo(request))"
                return "HTTP/1.1 103 Early Hints\r\n\(echo)\r\n\r\n"
                    + Raw.response(
                        status,
                        fields: [echo, "WWW-Authenticate: Bearer \(Self.secret)"]
                    )
            } _: { proxy in
                let app = try await proxy.connect()
                try await app.send(Raw.get("/api/a", "Connection: close"))
                let text = try await app.rest().text
                #expect(!Self.shows(text), "\(text)")
                #expect(text.split(separator: "X-Echo").count >= 3)
                #expect(text.contains(Self.mark))
                let logs = try await proxy.allLogs()
                #expect(!Self.shows(logs))
                // One event for the interim and the final response.
                #expect(logs.split(separator: "credential_echoed").count == 2, "\(logs)")
            }
        }
    }

    @Test(arguments: ["chunked", "grpc"])
    func `trailers do not contain the credential`(kind: String) async throws {
        let trailer = "denied: \(Self.secret)"
        let isChunked = kind == "chunked"
        let origin =
            isChunked
            ? try await OriginServer.start { _ in
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
                    + "Grpc-Message: \(trailer)\r\n\r\n"
            }
            : try await OriginServer.startHTTP2 { peer, message in
                try await peer.respond(
                    to: message.stream,
                    200,
                    [:],
                    "x",
                    trailers: ["grpc-message": trailer]
                )
            }
        try await DaemonHarness.run(
            channels: """
                api:
                  upstream: http://127.0.0.1:\(origin.port)
                  http: \(isChunked ? "http1" : "http2")
                  auth: { bearer: 'literal:\(Self.secret)' }
                """
        ) { proxy in
            let app = HTTP2Peer(try await proxy.connect(), as: .client)
            try await app.flush()
            let stream = try await app.request(
                .get,
                "/a",
                host: "api.localhost",
                ["TE": "trailers"]
            )
            let answer = try await app.message(on: stream)
            #expect(answer.trailers?["grpc-message"] == "denied: \(Self.mark)")
            let old = try await proxy.connect()
            try await old.send(Raw.get("/api/a", "TE: trailers", "Connection: close, TE"))
            #expect(try await old.rest().text.contains("denied: \(Self.mark)"))
            #expect(try await proxy.allLogs().split(separator: "credential_echoed").count == 3)
        }
    }

    @Test(arguments: [places[1], places[2]])
    func `content does not contain a credential of the URL`(auth: String, base: String)
        async throws
    {
        for framing in ["length", "chunked"] {
            try await story(auth, base: base) { request in
                let target = request.startLine.split(separator: " ")[1]
                let page = "<a href=\"\(target)\">\(target)</a>"
                guard framing == "chunked" else { return Raw.ok(page) }
                let half = page.utf8.count / 3
                return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "\(String(half, radix: 16))\r\n\(page.prefix(half))\r\n"
                    + "\(String(page.utf8.count - half, radix: 16))\r\n\(page.dropFirst(half))\r\n0\r\n\r\n"
            } _: { proxy in
                let answer = try await proxy.exchange(Raw.get("/api/a?x=1"))
                #expect(answer.status == 200)
                #expect(answer.body.split(separator: Self.mark).count == 3, "\(answer.body)")
                #expect(!Self.shows(answer.body))
                // A client that follows the link gets the credential there.
                let link = try #require(answer.body.split(separator: "\"").dropFirst().first)
                let path = String(link).replacing("/v1/", with: "/api/")
                    .replacing("/bot", with: "/api/bot")
                let next = try await proxy.exchange(Raw.get(path))
                #expect(next.body.contains(Self.mark))
                let logs = try await proxy.allLogs()
                #expect(logs.split(separator: "credential_echoed").count == 3)
                #expect(!logs.contains("overrode_client\":true") || base != "/v1")
            }
        }
    }

    @Test(arguments: [("", "c4nary"), ("scrub: content", mark), ("scrub: off", "c4nary")])
    func `content is searched for a credential in a field only if configured`(
        keys: String,
        shown: String
    ) async throws {
        try await story(Self.places[0].0, keys) { request in
            Raw.ok(Self.echo(request), "X-Echo: \(Self.echo(request))")
        } _: { proxy in
            let answer = try await proxy.exchange(Raw.get("/api/a"))
            #expect(answer.body.contains(shown))
            #expect(answer["X-Echo"]?.contains(keys == "scrub: off" ? "c4nary" : Self.mark) == true)
        }
    }

    @Test func `a secret field and the credential before a renewal are removed, too`() async throws
    {
        let (tokens, requests) = (Counter(), Counter())
        let server = try await OriginServer.start { _ in
            Raw.ok(#"{"access_token":"token-\#(tokens.next())-of-two","token_type":"Bearer"}"#)
        }
        let origin = try await OriginServer.start { request in
            guard requests.next() > 1 else { return Raw.response("401 Unauthorized") }
            let echo = "token-1-of-two \(request["Authorization"] ?? "") \(request["X-Key"] ?? "")"
            return Raw.ok("x", "X-Echo: \(echo)")
        }
        try await DaemonHarness.run(
            channels: """
                api:
                  upstream: http://127.0.0.1:\(origin.port)
                  headers: { secret: { X-Key: 'literal:\(Self.secret)' } }
                  auth:
                    oauth:
                      token_url: http://127.0.0.1:\(server.port)/token
                      client_id: me
                      client_secret: 'literal:x'
                """
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/api/a"))
            #expect(answer.status == 200)
            let echo = try #require(answer["X-Echo"])
            #expect(echo == "\(Self.mark) Bearer \(Self.mark) \(Self.mark)")
        }
    }

    @Test(arguments: ["gzip", "deflate", "x-gzip", "deflate, gzip"])
    func `compressed content is searched and passed on without its coding`(codings: String)
        async throws
    {
        var content = Array("<a href=\"?key=\(Self.secret)\">".utf8)
        for coding in codings.split(separator: ", ") {
            content = coding == "deflate" ? Stored.block(content) : Stored.gzip(content)
        }
        let head =
            "HTTP/1.1 200 OK\r\nContent-Encoding: \(codings)\r\nETag: \"a\"\r\nContent-MD5: x\r\n"
            + "Content-Length: \(content.count)\r\n\r\n"
        let origin = try await OriginServer.start { [content] wire in
            while try await wire.next() != nil { try await wire.send(Array(head.utf8) + content) }
        }
        try await DaemonHarness.run(
            channels: """
                api:
                  upstream: http://127.0.0.1:\(origin.port)
                  auth: { bearer: 'literal:\(Self.secret)', in: query, name: key }
                """
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/api/a", "Accept-Encoding: gzip"))
            #expect(answer.body == "<a href=\"?key=\(Self.mark)\">")
            #expect(answer["Content-Encoding"] == nil && answer["Content-MD5"] == nil)
            #expect(answer["ETag"] == "W/\"a\"")
            let bare = try await proxy.exchange(Raw.request("HEAD", "/api/a"), .none)
            #expect(bare["Content-Encoding"] == codings)
        }
    }

    @Test func `a channel with searched content requests no ranges and no unknown codings`()
        async throws
    {
        let origin = try await OriginServer.start { _ in Raw.ok("x", "Content-Encoding: br") }
        try await DaemonHarness.run(
            channels: """
                api:
                  upstream: http://127.0.0.1:\(origin.port)
                  auth: { bearer: 'literal:\(Self.secret)', in: query, name: key }
                """
        ) { proxy in
            let fields = [
                "Range: bytes=0-9", "If-Range: \"a\"", "Accept-Encoding: br, gzip;q=0.5, *",
            ]
            let answer = try await proxy.exchange(Raw.request("GET", "/api/a", fields: fields))
            #expect(answer.status == 502)
            #expect(answer.body.contains("http_response_content_coding"))
            _ = try await proxy.exchange(Raw.get("/api/a", "Accept-Encoding: br"))
            #expect(try await proxy.exchange(Raw.request("HEAD", "/api/a"), .none).status == 200)
        }
        #expect(origin.requests[0].values("Accept-Encoding") == ["gzip;q=0.5"])
        #expect(origin.requests[0]["Range"] == nil && origin.requests[0]["If-Range"] == nil)
        #expect(origin.requests[1]["Accept-Encoding"] == "identity")
    }
}

/// Content in the codings of DEFLATE, in one block without compression (RFC 1951 §3.2.4).
private enum Stored {
    static func block(_ bytes: [UInt8]) -> [UInt8] {
        let (low, high) = (UInt8(bytes.count & 255), UInt8(bytes.count >> 8))
        return [1, low, high, ~low, ~high] + bytes
    }

    /// RFC 1952 §2.3.
    static func gzip(_ bytes: [UInt8]) -> [UInt8] {
        var checksum = UInt32.max
        for byte in bytes {
            checksum ^= UInt32(byte)
            for _ in 0..<8 { checksum = checksum >> 1 ^ (checksum & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
        let trailer = [~checksum, UInt32(bytes.count)].flatMap { word in
            (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * UInt32($0))) }
        }
        return [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + block(bytes) + trailer
    }
}
