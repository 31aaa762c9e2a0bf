import TestSupport
import Testing

/// Requests that the proxy refuses before it contacts any upstream.
@Suite struct RefusedRequestStory {
    private func refusal(
        of request: String,
        access: String = "{}"
    ) async throws -> (answer: RawMessage, line: LogLine, log: String, reached: Int) {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let found = Found()
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)/v1
                  access: \(access)
                """
        ) { proxy in
            found.answer = try await proxy.exchange(request)
            let own = try await proxy.log("netproxy")
            let channel = try await proxy.log("orders")
            found.line = (own + channel).first
            found.log = own.isEmpty ? "orders" : "netproxy"
        }
        return (
            try #require(found.answer), try #require(found.line), found.log,
            origin.connections.count
        )
    }

    private final class Found {
        var answer: RawMessage?
        var line: LogLine?
        var log = ""
    }

    @Test func `an unknown path is 404 and lists the channels`() async throws {
        let (answer, line, log, _) = try await refusal(of: Raw.get("/nobody"))
        #expect(answer.status == 404)
        #expect(answer["Content-Type"] == "application/problem+json")
        #expect(answer["Proxy-Status"] == "netproxy; error=no_channel")
        #expect(answer.body.contains(#""type":"urn:netproxy:error:no_channel""#))
        #expect(answer.body.contains("orders"))
        #expect(line.facts.error == "no_channel")
        #expect(log == "netproxy")
    }

    @Test func `an unknown authority is 403`() async throws {
        let (answer, line, _, _) = try await refusal(
            of: "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n"
        )
        #expect(answer.status == 403)
        #expect(answer["Proxy-Status"] == "netproxy; error=no_channel")
        #expect(line.facts.status == 403)
    }

    @Test func `a web page that names no channel is refused without the channels' names`()
        async throws
    {
        let page = "Origin: https://evil.example"
        let (answer, _, log, _) = try await refusal(of: Raw.get("/nobody", page))
        #expect(answer.status == 403)
        #expect(!answer.body.contains("orders"))
        #expect(log == "netproxy")
    }

    @Test func `a host that a web page could rebind is 421`() async throws {
        let request = "GET /orders/1 HTTP/1.1\r\nHost: evil.example\r\n\r\n"
        let (answer, line, _, reached) = try await refusal(of: request)
        #expect(answer.status == 421)
        #expect(answer["Proxy-Status"] == "netproxy; error=http_request_denied")
        #expect(line.facts.error == "http_request_denied")
        #expect(reached == 0)
    }

    /// A page whose own name resolves to this machine could read the refusal, with the names of the channels.
    @Test func `a refusal for a rebound host does not list the channels`() async throws {
        let request = "GET /nobody HTTP/1.1\r\nHost: evil.example\r\n\r\n"
        let (answer, line, log, _) = try await refusal(of: request)
        #expect(answer.status == 421)
        #expect(!answer.body.contains("orders"))
        #expect(line.facts.error == "http_request_denied")
        #expect(log == "netproxy")
    }

    @Test func `an unknown path on a host in access.hosts lists the channels`() async throws {
        let (answer, _, _, _) = try await refusal(
            of: "GET /nobody HTTP/1.1\r\nHost: proxy.example\r\n\r\n",
            access: "{ hosts: [proxy.example] }"
        )
        #expect(answer.status == 404)
        #expect(answer.body.contains("orders"))
    }

    @Test func `a host in access.hosts is served without a path`() async throws {
        let (answer, _, _, _) = try await refusal(
            of: "OPTIONS * HTTP/1.1\r\nHost: proxy.example\r\n\r\n",
            access: "{ hosts: [proxy.example] }"
        )
        #expect(answer.status == 200)
    }

    @Test(arguments: ["Origin: https://evil.example", "Sec-Fetch-Site: cross-site"])
    func `a request of a web page is 403`(field: String) async throws {
        let (answer, _, _, reached) = try await refusal(of: Raw.get("/orders/1", field))
        #expect(answer.status == 403)
        #expect(reached == 0)
    }

    @Test func `a web page whose origin is listed is served`() async throws {
        let (answer, _, _, _) = try await refusal(
            of: Raw.get("/orders/1", "Origin: https://app.example"),
            access: "{ origins: ['https://app.example'] }"
        )
        #expect(answer.status == 200)
    }

    @Test func `a client that uses netproxy as a proxy gets 407`() async throws {
        let target = "http://orders.localhost/1"
        let request = Raw.get(target).replacing("Host: localhost", with: "Host: orders.localhost")
        let (answer, _, _, reached) = try await refusal(of: request, access: "{ key: 'literal:k' }")
        #expect(answer.status == 407)
        // Both schemes are accepted. A client that waits for a challenge, such as `curl --proxy-anyauth`,
        // sends a scheme from the list.
        #expect(
            answer.values("Proxy-Authenticate")
                == ["Bearer realm=\"netproxy\"", "Basic realm=\"netproxy\""]
        )
        #expect(answer.values("WWW-Authenticate").isEmpty)
        #expect(reached == 0)
    }

    @Test func `a channel with a key requires it`() async throws {
        let access = "{ key: 'literal:sesame' }"
        let (answer, _, _, reached) = try await refusal(of: Raw.get("/orders/1"), access: access)
        // A client without proxy support, such as git, sends a password only after a challenge.
        #expect(answer.status == 401)
        #expect(answer["WWW-Authenticate"] == "Basic realm=\"netproxy\"")
        #expect(reached == 0)
        let (opened, _, _, _) = try await refusal(
            of: Raw.get("/orders/1", "Proxy-Authorization: Bearer sesame"),
            access: access
        )
        #expect(opened.status == 200)
    }

    @Test(arguments: ["/orders/../admin", "/orders/%2e%2e/admin", "/orders/a/%2E./../../b"])
    func `a path that leaves the base path is 400`(path: String) async throws {
        let (answer, _, _, reached) = try await refusal(of: Raw.get(path))
        #expect(answer.status == 400)
        // Bytes after an ambiguous message are not read.
        #expect(answer["Connection"] == "close")
        #expect(reached == 0)
    }

    @Test func `a request that passed through this proxy before is 508`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port), headers: { via: on } }"
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            let via = try #require(answer["Via"])
            let again = try await proxy.exchange(Raw.get("/orders/1", "Via: \(via)"))
            #expect(again.status == 508)
            #expect(again["Proxy-Status"] == "netproxy; error=proxy_loop_detected")
        }
    }

    @Test(arguments: ["/orders/1", "/nobody/1"])
    func `netproxy's own response to HEAD has no content`(target: String) async throws {
        let port = RefusingPort.any()
        try await DaemonHarness.run(
            channels: """
                orders: { upstream: http://127.0.0.1:\(port), retry: { attempts: 0 } }
                """
        ) { proxy in
            let app = try await proxy.connect()
            for _ in 1...2 {
                try await app.send(Raw.request("HEAD", target))
                let answer = try await app.message(.none)
                #expect(answer.status == (target == "/orders/1" ? 502 : 404))
                #expect(answer["Content-Length"] != nil)
            }
        }
    }
}
