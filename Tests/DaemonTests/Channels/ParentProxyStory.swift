import TestSupport
import Testing

/// Channels whose requests pass through another proxy.
@Suite struct ParentProxyStory {
    @Test func `plain requests go to the proxy in absolute-form`() async throws {
        let hop = try await OriginServer.start { Raw.ok($0.body) }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:1/v1
                  proxy: http://127.0.0.1:\(hop.port)
                  auth: { bearer: 'literal:sesame' }
                """
        ) { proxy in
            let app = try await proxy.connect()
            for _ in 1...2 {
                try await app.send(Raw.post("/orders/1?a=b", body: "hello"))
                #expect(try await app.message().body == "hello")
            }
            let request = try #require(hop.requests.first)
            #expect(request.startLine == "POST http://127.0.0.1:1/v1/1?a=b HTTP/1.1")
            #expect(request["Host"] == "127.0.0.1:1")
            #expect(request["Authorization"] == "Bearer sesame")
            #expect(hop.connections.count == 1)
        }
    }

    @Test func `token requests use their own proxy`() async throws {
        let origin = try await OriginServer.start { Raw.ok($0["Authorization"] ?? "") }
        let hop = try await OriginServer.start { _ in
            Raw.ok(
                #"{"access_token":"through","token_type":"Bearer"}"#,
                "Content-Type: application/json"
            )
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  auth:
                    oauth:
                      token_url: http://127.0.0.1:1/token
                      client_id: orders
                      client_secret: literal:sesame
                      proxy: http://127.0.0.1:\(hop.port)
                """
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.body == "Bearer through")
            #expect(
                hop.requests.map(\.startLine) == ["POST http://127.0.0.1:1/token HTTP/1.1"]
            )
        }
    }

    @Test func `the tunnel request for TLS contains no credential`() async throws {
        let hop = try await OriginServer.start { wire in
            _ = try await wire.next(.none)
            try await wire.send("HTTP/1.1 200 Connection established\r\nX-Hop: 1\r\n\r\n")
            // From here on, the bytes are TLS.
            try await wire.read(through: "\u{16}")
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: https://api.example:8443
                  proxy: http://127.0.0.1:\(hop.port)
                  auth: { bearer: 'literal:sesame' }
                  retry: { attempts: 0 }
                """
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 502)
            #expect(answer["Proxy-Status"] == "netproxy; error=tls_protocol_error")
            let request = try #require(hop.requests.first)
            #expect(request.startLine == "CONNECT api.example:8443 HTTP/1.1")
            #expect(request.fields.map(\.name) == ["Host"])
            #expect(!hop.connections[0].received.contains("sesame"))
        }
    }

    private static let login = "username: me, password: 'literal:c4nary'"
    private static let shown = "Basic bWU6YzRuYXJ5"

    @Test func `each plain request sends the proxy's password`() async throws {
        let hop = try await OriginServer.start { request in
            Raw.ok(
                request.startLine.contains("/token")
                    ? #"{"access_token":"through","token_type":"Bearer"}"# : request.body,
                "Content-Type: application/json"
            )
        }
        let proxy = "{ url: 'http://127.0.0.1:\(hop.port)', \(Self.login) }"
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:1
                  proxy: \(proxy)
                  log: { headers: [Proxy-Authorization] }
                  auth:
                    oauth:
                      token_url: http://127.0.0.1:1/token
                      client_id: orders
                      client_secret: literal:sesame
                      proxy: \(proxy)
                """
        ) { proxy in
            let app = try await proxy.connect()
            for _ in 1...2 {
                try await app.send(Raw.post("/orders/1", body: "hello"))
                #expect(try await app.message().body == "hello")
            }
            #expect(hop.requests.count == 3)
            for request in hop.requests {
                #expect(
                    request.fields.filter { $0.name == "Proxy-Authorization" }.map(\.value)
                        == [Self.shown]
                )
            }
            let logs = try await proxy.allLogs()
            #expect(!logs.contains("c4nary") && !logs.contains("bWU6YzRuYXJ5"))
        }
    }

    @Test func `only the tunnel request sends the proxy's password`() async throws {
        let hop = try await OriginServer.start { wire in
            _ = try await wire.next(.none)
            try await wire.send("HTTP/1.1 200 Connection established\r\n\r\n")
            // From here on, the bytes are TLS.
            try await wire.read(through: "\u{16}")
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: https://api.example
                  proxy: { url: 'http://127.0.0.1:\(hop.port)', \(Self.login) }
                  retry: { attempts: 0 }
                """
        ) { proxy in
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 502)
            let request = try #require(hop.requests.first)
            #expect(request.startLine == "CONNECT api.example:443 HTTP/1.1")
            #expect(request.fields.map(\.name) == ["Host", "Proxy-Authorization"])
            #expect(request["Proxy-Authorization"] == Self.shown)
        }
    }

    @Test func `the error for an unreachable proxy identifies it as a proxy`() async throws {
        let port = RefusingPort.any()
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: https://api.example
                  proxy: http://127.0.0.1:\(port)
                  retry: { attempts: 0 }
                """
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer["Proxy-Status"] == "netproxy; error=connection_refused")
            #expect(answer.body.contains("the proxy 127.0.0.1:\(port) refuses connections"))
        }
    }

    @Test(
        arguments: ["http://127.0.0.1:1", "https://api.example"],
        [
            ("", "requires authentication"),
            (login, "rejects the user name or password"),
        ]
    )
    func `a 407 of the proxy is not returned as the upstream's response`(
        upstream: String,
        login: (keys: String, words: String)
    ) async throws {
        let hop = try await OriginServer.start { _ in
            Raw.response("407 Who Are You", fields: ["Proxy-Authenticate: Basic"])
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: \(upstream)
                  proxy: { url: 'http://127.0.0.1:\(hop.port)', \(login.keys) }
                """
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 502)
            #expect(answer["Proxy-Status"] == "netproxy; error=destination_unavailable")
            #expect(answer["Proxy-Authenticate"] == nil)
            #expect(answer.body.contains("the proxy 127.0.0.1:\(hop.port) \(login.words)"))
            // A second attempt would get the same response.
            #expect(hop.requests.count == 1)
        }
    }

    @Test(arguments: [
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "nonsense\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\nearly",
    ])
    func `a proxy that opens no tunnel is 502`(refusal: String) async throws {
        let hop = try await OriginServer.start { wire in
            _ = try await wire.next(.none)
            try await wire.send(refusal)
            try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: https://api.example
                  proxy: http://127.0.0.1:\(hop.port)
                  retry: { attempts: 0 }
                """
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 502)
            #expect(answer["Proxy-Status"] == "netproxy; error=destination_unavailable")
            #expect(answer.body.contains("127.0.0.1:\(hop.port)"))
            try await hop.connections[0].closed.wait()
        }
    }

    @Test func `an error of the proxy names it, and its tunnel counts as connecting`() async throws
    {
        let (asked, goOn) = (Gate(), Gate())
        let hop = try await OriginServer.start { wire in
            _ = try await wire.next(.none)
            asked.open()
            try await goOn.wait()
            try await wire.send("HTTP/1.1 200 Connection established\r\n\r\n")
            try await wire.read(through: "\u{16}")
        }
        let mute = try await OriginServer.start { _ = try await $0.next(.none) }
        func channel(_ name: String, _ hop: OriginServer) -> String {
            """
            \(name):
              upstream: https://api.example
              proxy: http://127.0.0.1:\(hop.port)
              retry: { attempts: 0 }
            """
        }
        try await DaemonHarness.run(
            channels: "\(channel("slow", hop))\n\(channel("mute", mute))"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/slow/1"))
            try await asked.wait()
            await proxy.advance(by: .seconds(2))
            goOn.open()
            #expect(try await app.message().status == 502)
            let answer = try await proxy.exchange(Raw.get("/mute/1"))
            #expect(answer["Proxy-Status"] == "netproxy; error=connection_terminated")
            #expect(answer.body.contains("127.0.0.1:\(mute.port)"))
            let connecting = try await proxy.onlyLine("slow").facts.timings?.connectMS
            #expect(try #require(connecting) >= 2000)
        }
    }

    @Test(arguments: ["http://127.0.0.1:1", "https://api.example"])
    func `the error for an unsupported proxy scheme names the proxy and the scheme`(
        upstream: String
    ) async throws {
        let hop = try await OriginServer.start { wire in
            _ = try await wire.next(.none)
            try await wire.send(
                "HTTP/1.1 407 No\r\nProxy-Authenticate: Negotiate, NTLM\r\n"
                    + "Proxy-Authenticate: Digest realm=\"a, Basic\", nonce=1\r\nContent-Length: 0\r\n\r\n"
            )
        }
        for proxy in [
            "http://127.0.0.1:\(hop.port)",
            "{ url: 'http://127.0.0.1:\(hop.port)', \(Self.login) }",
        ] {
            try await DaemonHarness.run(
                channels:
                    "orders: { upstream: '\(upstream)', proxy: \(proxy), retry: { attempts: 0 } }"
            ) { proxy in
                let answer = try await proxy.exchange(Raw.get("/orders/1"))
                #expect(answer.status == 502)
                #expect(answer.body.contains("accepts Negotiate, NTLM, Digest only"))
            }
        }
    }
}
