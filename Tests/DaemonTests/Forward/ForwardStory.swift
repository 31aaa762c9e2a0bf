import OriginTransport
import TestSupport
import Testing

/// Absolute-form requests that no channel claims.
@Suite struct ForwardStory {
    private static func ask(_ authority: String, _ fields: String...) -> String {
        (["GET http://\(authority)/a?b=%2F HTTP/1.1", "Host: \(authority)"] + fields)
            .map { "\($0)\r\n" }.joined() + "\r\n"
    }

    private static let channels = """
        orders:
          upstream: https://api.example
          auth: { bearer: 'literal:sesame' }
          headers: { set: { X-Client: netproxy } }
        """

    @Test func `a request that no channel claims is forwarded unchanged`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok("from outside") }
        try await DaemonHarness.run(
            channels: ForwardStory.channels,
            root: "unmatched: forward",
            destinations: .any
        ) { proxy in
            let authority = "localhost:\(origin.port)"
            let app = try await proxy.connect()
            for _ in 1...2 {
                try await app.send(ForwardStory.ask(authority, "Cookie: mine=1"))
                let answer = try await app.message()
                #expect(answer.status == 200)
                #expect(answer.body == "from outside")
                #expect(answer["Via"]?.hasPrefix("1.1 netproxy-") == true)
            }
            let request = try #require(origin.requests.first)
            #expect(request.startLine == "GET /a?b=%2F HTTP/1.1")
            #expect(request["Host"] == authority)
            #expect(request["Cookie"] == "mine=1")
            #expect(request.values("Authorization").isEmpty)
            #expect(request.values("X-Client").isEmpty)
            #expect(origin.connections.count == 1)
            let lines = try await proxy.log("netproxy")
            #expect(lines.map(\.facts.status) == [200, 200])
            #expect(lines.map(\.facts.path) == ["/a", "/a"])
        }
    }

    @Test func `a key for this proxy is not forwarded`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "\(ForwardStory.channels)\n  access: { key: 'literal:c4nary' }",
            root: "unmatched: forward",
            destinations: .any
        ) { proxy in
            let request = ForwardStory.ask(
                "localhost:\(origin.port)",
                "Authorization: Bearer c4nary",
                "X-Api-Key: c4nary",
                "X-Other: mine"
            )
            #expect(try await proxy.exchange(request).status == 200)
            let seen = try #require(origin.requests.first)
            #expect(seen["X-Other"] == "mine")
            #expect(seen["Authorization"] == nil)
            #expect(seen["X-Api-Key"] == nil)
        }
    }

    @Test(arguments: ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"])
    func `a name that resolves to this machine is 403`(host: String) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: ForwardStory.channels,
            root: "unmatched: forward"
        ) { proxy in
            let answer = try await proxy.exchange(ForwardStory.ask("\(host):\(origin.port)"))
            #expect(answer.status == 403)
            #expect(answer["Proxy-Status"] == "netproxy; error=http_request_denied")
            #expect(origin.connections.isEmpty)
            #expect(try await proxy.onlyLine("netproxy").facts.error == "http_request_denied")
        }
    }

    @Test(arguments: ["169.254.169.254", "10.0.0.1", "192.168.0.1", "100.64.1.1", "[fd00::1]"])
    func `a private address is 403`(host: String) async throws {
        try await DaemonHarness.run(
            channels: ForwardStory.channels,
            root: "unmatched: forward"
        ) { proxy in
            let answer = try await proxy.exchange(ForwardStory.ask(host))
            #expect(answer.status == 403)
        }
    }

    @Test func `unclaimed requests are refused unless the configuration allows forwarding`()
        async throws
    {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: ForwardStory.channels,
            destinations: .any
        ) { proxy in
            let answer = try await proxy.exchange(ForwardStory.ask("localhost:\(origin.port)"))
            #expect(answer.status == 403)
            #expect(answer["Proxy-Status"] == "netproxy; error=no_channel")
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `a web page cannot reach another host`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: ForwardStory.channels,
            root: "unmatched: forward",
            destinations: .any
        ) { proxy in
            let answer = try await proxy.exchange(
                ForwardStory.ask("localhost:\(origin.port)", "Origin: https://evil.example")
            )
            #expect(answer.status == 403)
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `the channel's host on another port is another server`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://localhost:\(origin.port)
                  auth: { bearer: 'literal:sesame' }
                """
        ) { proxy in
            let other = try await proxy.exchange(ForwardStory.ask("localhost:1"))
            #expect(other.status == 403)
            for authority in ["localhost", "localhost:\(origin.port)"] {
                let answer = try await proxy.exchange(ForwardStory.ask(authority))
                #expect(answer.status == 200)
            }
        }
    }
}
