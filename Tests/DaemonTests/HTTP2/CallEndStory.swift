import NetproxyHTTP2
import NetproxyHTTPMessage
import TestSupport
import Testing

/// The ends of gRPC calls that fail because of netproxy, or of a server that dies.
@Suite struct CallEndStory {
    private static let native: HTTPHeaders = [
        "Content-Type": "application/grpc", "TE": "trailers",
    ]
    /// A message of one byte.
    private static let message = "\0\0\0\0\u{1}x"

    private static func greeter(_ port: Int, _ more: String = "") -> String {
        "greeter: { upstream: 'http://127.0.0.1:\(port)'\(more) }"
    }

    /// Runs a story with an HTTP/2 client.
    private func run(
        _ channels: String,
        root: String = "",
        _ story: (DaemonHarness, HTTP2Peer) async throws -> Void
    ) async throws {
        try await DaemonHarness.run(channels: channels, root: root) { proxy in
            let app = HTTP2Peer(try await proxy.connect(), as: .client)
            try await app.flush()
            try await story(proxy, app)
        }
    }

    /// Starts a server whose response has one message, and then breaks off.
    private static func dying(
        _ type: String,
        _ content: String = message,
        after gate: Gate? = nil
    ) async throws -> OriginServer {
        try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send(
                "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + String(content.utf8.count, radix: 16) + "\r\n\(content)\r\n"
            )
            try await gate?.wait()
            try await wire.reset()
        }
    }

    // MARK: - After the head

    @Test func `a server that dies in a call leaves UNAVAILABLE in the trailers`() async throws {
        let origin = try await OriginServer.startHTTP2 { peer, message in
            try await peer.beginResponse(
                to: message.stream,
                ["Content-Type": "application/grpc"]
            )
            try await peer.send(CallEndStory.message, on: message.stream)
            throw WireError.ended
        }
        try await run(CallEndStory.greeter(origin.port, ", http: http2")) { proxy, app in
            let stream = try await app.request(
                .post,
                "/a.B/C",
                host: "greeter.localhost",
                CallEndStory.native,
                content: CallEndStory.message
            )
            let answer = try await app.message(on: stream)
            #expect(answer.status == 200)
            #expect(answer.body == CallEndStory.message)
            #expect(answer.trailers?["grpc-status"] == "14")
            #expect(answer.trailers?["grpc-message"]?.isEmpty == false)
            #expect(app.resets.isEmpty)
            let line = try await proxy.onlyLine("greeter")
            #expect(line.facts.status == 200)
            #expect(line.facts.error?.isEmpty == false)
            #expect(line.facts.abortedBy == "upstream")
            #expect(line.text.contains(#""grpc_status":14"#))
        }
    }

    @Test(arguments: ["application/grpc-web+proto", "application/grpc-web-text"])
    func `a server that dies in a gRPC-Web call leaves UNAVAILABLE in a last frame`(
        type: String
    ) async throws {
        let isText = type.contains("text")
        let origin = try await CallEndStory.dying(type, isText ? "AAAAAAF4" : CallEndStory.message)
        try await run(CallEndStory.greeter(origin.port)) { proxy, app in
            let fields = ["Content-Type: \(type)"]
            let raw = try await proxy.exchange(
                Raw.request("POST", "/greeter/a.B/C", fields: fields, body: "x")
            )
            let stream = try await app.request(
                .post,
                "/greeter/a.B/C",
                ["Content-Type": type],
                content: "x"
            )
            for body in try await [raw.body, app.message(on: stream).body] {
                if isText {
                    #expect(body.hasPrefix("AAAAAAF4gAAA"))
                } else {
                    #expect(body.contains("grpc-status:14\r\ngrpc-message:"))
                }
            }
        }
    }

    @Test func `a gRPC-Web response cut within a message is broken off`() async throws {
        let origin = try await CallEndStory.dying("application/grpc-web", "\0\0\0\0\u{9}x")
        try await run(CallEndStory.greeter(origin.port)) { proxy, _ in
            let app = try await proxy.connect()
            let fields = ["Content-Type: application/grpc-web"]
            try await app.send(Raw.request("POST", "/greeter/a.B/C", fields: fields, body: "x"))
            try await app.read(through: "\u{9}x\r\n")
            let rest = try await app.rest()
            #expect(rest.end == .reset)
            #expect(rest.text.isEmpty)
        }
    }

    @Test func `the end of a drain ends a call with UNAVAILABLE`() async throws {
        let origin = try await CallEndStory.dying("application/grpc", after: Gate())
        try await run(CallEndStory.greeter(origin.port), root: "drain: 100ms") { proxy, app in
            let stream = try await app.request(
                .post,
                "/greeter/a.B/C",
                CallEndStory.native,
                content: CallEndStory.message
            )
            let id = try #require(stream)
            try await app.receive { $0.content(on: id).count == 6 }
            async let stopped: Void = proxy.stop()
            let answer = try await app.message(on: stream)
            #expect(answer.trailers?["grpc-status"] == "14")
            #expect(answer.trailers?["grpc-message"]?.contains("shutting down") == true)
            await stopped
            let facts = try await proxy.onlyLine("greeter").facts
            #expect(facts.abortedBy == "proxy")
        }
    }

    @Test func `a timeout after the head ends a call with DEADLINE_EXCEEDED and its key`()
        async throws
    {
        let origin = try await CallEndStory.dying("application/grpc", after: Gate())
        // Waits for a timeout of 100 ms.
        try await run(CallEndStory.greeter(origin.port, ", timeouts: { idle: 100ms }")) { _, app in
            let stream = try await app.request(
                .post,
                "/greeter/a.B/C",
                CallEndStory.native,
                content: CallEndStory.message
            )
            let trailers = try await app.message(on: stream).trailers
            #expect(trailers?["grpc-status"] == "4")
            #expect(trailers?["grpc-message"]?.contains("timeouts.idle (100ms)") == true)
        }
    }

    @Test func `a response of a known length that breaks off is reset`() async throws {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send(
                "HTTP/1.1 200 OK\r\nContent-Type: application/grpc\r\nContent-Length: 9\r\n\r\nx"
            )
        }
        try await run(CallEndStory.greeter(origin.port)) { _, app in
            let stream = try await app.request(
                .post,
                "/greeter/a.B/C",
                CallEndStory.native,
                content: "x"
            )
            let id = try #require(stream)
            try await app.receive { $0.hasEnded(id) }
            #expect(app.resets[id] != nil)
        }
    }

    // MARK: - Refused heads

    /// A head that netproxy refuses: the additional fields, the gRPC status, and words of the message.
    private static let refused: [(fields: HTTPHeaders, status: String, words: String)] = [
        (["x-big": String(repeating: "a", count: 20_000)], "8", "limits.header_size is 16KiB"),
        (
            HTTPHeaders(Dictionary(uniqueKeysWithValues: (0..<120).map { ("x-\($0)", "v") })),
            "8", "limits.header_count is 100"
        ),
        (["expect": "something"], "13", "100-continue"),
    ]

    @Test(arguments: refused.indices, [true, false])
    func `a call whose head is refused ends with a gRPC status that names the limit`(
        index: Int,
        isTypeFirst: Bool
    ) async throws {
        let (fields, status, words) = CallEndStory.refused[index]
        var head = isTypeFirst ? CallEndStory.native : fields
        head.append(isTypeFirst ? fields : CallEndStory.native)
        try await run(CallEndStory.greeter(1)) { proxy, app in
            let stream = try await app.request(.post, "/greeter/a.B/C", head, content: "x")
            let answer = try await app.message(on: stream)
            #expect(answer.status == 200)
            #expect(answer["content-type"] == "application/grpc")
            #expect(answer["grpc-status"] == status)
            #expect(answer["grpc-message"]?.contains(words) == true)
            #expect(answer["proxy-status"] == "netproxy; error=http_request_error")
            #expect(try await proxy.onlyLine("netproxy").text.contains("grpc_status"))
        }
    }

    @Test(arguments: ["/greeter/a.B/C", "/" + String(repeating: "x", count: 9000)])
    func `a gRPC-Web call over HTTP/1 whose head is refused gets a frame with the status`(
        target: String
    ) async throws {
        try await run(CallEndStory.greeter(1)) { proxy, _ in
            let isLong = target.utf8.count > 9000
            let big = isLong ? "1" : String(repeating: "a", count: 20_000)
            let answer = try await proxy.exchange(
                Raw.request(
                    "POST",
                    target,
                    fields: ["content-type:application/grpc-web+proto", "X-Big: \(big)"],
                    body: "x"
                )
            )
            #expect(answer.status == 200)
            #expect(answer["Content-Type"] == "application/grpc-web")
            #expect(answer.body.contains("grpc-status:8\r\ngrpc-message:"))
            let limit = isLong ? "limits.target_size is 8KiB" : "limits.header_size is 16KiB"
            #expect(answer.body.contains(limit))
        }
    }

    @Test func `the errors of gRPC-Web calls have the framing of gRPC-Web`() async throws {
        let channels = """
            greeter: { upstream: http://127.0.0.1:\(RefusingPort.any()), retry: { attempts: 0 } }
            """
        try await run(channels) { proxy, app in
            let web = try await proxy.exchange(
                Raw.post("/greeter/a.B/C", body: "x", "Content-Type: application/grpc-web+proto")
            )
            #expect(web.status == 200)
            #expect(web["Content-Type"] == "application/grpc-web")
            #expect(web["Proxy-Status"] == "netproxy; error=connection_refused")
            #expect(web.body.contains("grpc-status:14\r\ngrpc-message:"))
            let stream = try await app.request(
                .post,
                "/greeter/a.B/C",
                ["Content-Type": "application/grpc-web-text+proto"],
                content: "x"
            )
            let text = try await app.message(on: stream)
            #expect(text["content-type"] == "application/grpc-web-text")
            #expect(text.body.hasPrefix("gAAA"))
            #expect(text["grpc-status"] == nil)
        }
    }

    // MARK: - Sockets and renewal

    @Test func `a call over the unix listener of a channel may have any authority`() async throws {
        let origin = try await OriginServer.start { request in
            Raw.ok(request["Host"] ?? "", "Content-Type: application/grpc")
        }
        let path = "/tmp/netproxy-call-\(UInt64.random(in: 0 ... .max)).sock"
        try await DaemonHarness.run(
            channels: """
                greeter:
                  upstream: http://127.0.0.1:\(origin.port)
                  host: app
                  match: { listen: 'unix:\(path)' }
                """,
            root: "listen: ['127.0.0.1:0', 'unix:DIRECTORY/shared.sock']"
        ) { proxy in
            for host in ["%2Ftmp%2Fgreeter.sock", "/tmp/greeter.sock", "a:b:c", "localhost"] {
                let own = try await RawClient.connect(path: path)
                let app = HTTP2Peer(own, as: .client)
                try await app.flush()
                let stream = try await app.request(.get, "/a", host: host, CallEndStory.native)
                let answer = try await app.message(on: stream)
                #expect(answer.status == 200)
                #expect(answer.body == (host == "localhost" ? host : "127.0.0.1:\(origin.port)"))
            }
            let plain = try await RawClient.connect(path: path)
            try await plain.send("GET /a HTTP/1.1\r\nHost: /var/run/greeter.sock\r\n\r\n")
            #expect(try await plain.message().status == 200)
            let shared = try await RawClient.connect(path: "\(proxy.directory)/shared.sock")
            let app = HTTP2Peer(shared, as: .client)
            try await app.flush()
            let host = "%2Ftmp%2Fshared.sock"
            let stream = try await app.request(.get, "/greeter/a", host: host, CallEndStory.native)
            let refusal = try await app.message(on: stream)
            #expect(refusal["grpc-status"] == "13")
            #expect(refusal["grpc-message"]?.contains("not a host") == true)
        }
    }

    @Test func `a gRPC-Web call whose head has UNAUTHENTICATED is repeated with a new token`()
        async throws
    {
        let type = "Content-Type: application/grpc-web+proto"
        let origin = try await OriginServer.start { request in
            request["Authorization"] == "Bearer token-2"
                ? Raw.ok("done", type)
                : Raw.response("200 OK", fields: [type, "grpc-status: 16"])
        }
        let tokens = Counter()
        let server = try await OriginServer.start { _ in
            tokens.add(1)
            return Raw.ok(
                #"{"access_token":"token-\#(tokens.value)","token_type":"Bearer","expires_in":3600}"#,
                "Content-Type: application/json"
            )
        }
        try await DaemonHarness.run(
            channels: """
                greeter:
                  upstream: http://127.0.0.1:\(origin.port)
                  auth:
                    oauth:
                      grant: client_credentials
                      token_url: http://127.0.0.1:\(server.port)/token
                      client_id: x
                      client_secret: literal:y
                """
        ) { proxy in
            let answer = try await proxy.exchange(Raw.post("/greeter/a.B/C", body: "x", type))
            #expect(answer.body == "done")
            #expect(tokens.value == 2)
            let facts = try await proxy.onlyLine("greeter").facts
            #expect(facts.retries == ["unauthorized"])
        }
    }
}
