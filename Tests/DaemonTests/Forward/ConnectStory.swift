import TestSupport
import Testing

@Suite struct ConnectStory {
    private static func ask(_ authority: String, _ fields: String...) -> String {
        (["CONNECT \(authority) HTTP/1.1", "Host: \(authority)"] + fields)
            .map { "\($0)\r\n" }.joined() + "\r\n"
    }

    /// Runs a story next to a channel with a credential; `%` represents the origin's port.
    private static func run(
        connect: String,
        _ script: @escaping OriginServer.Script,
        _ story: (DaemonHarness, OriginServer) async throws -> Void
    ) async throws {
        let origin = try await OriginServer.start(script)
        let port = origin.port
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(port)
                  auth: { bearer: 'literal:sesame' }
                """,
            root: "connect: [\(connect.replacing("%", with: "\(port)"))]"
        ) { proxy in try await story(proxy, origin) }
    }

    private static let echo: OriginServer.Script = { wire in
        while true { try await wire.send(try await wire.read(through: ";").uppercased()) }
    }

    @Test(arguments: ["'127.0.0.1:%'", "'localhost:%', '*.example:443', '127.0.0.1:%'"])
    func `a listed address gets a blind tunnel`(patterns: String) async throws {
        try await ConnectStory.run(connect: patterns, ConnectStory.echo) { proxy, origin in
            let app = try await proxy.connect()
            try await app.send(
                ConnectStory.ask("127.0.0.1:\(origin.port)", "Proxy-Authorization: Basic eDp5")
                    + "early;"
            )
            let answer = try await app.message(.none)
            #expect(answer.status == 200)
            #expect(answer.values("Content-Length").isEmpty)
            #expect(answer.values("Transfer-Encoding").isEmpty)
            try await app.read(through: "EARLY;")
            try await app.send("GET /orders/1 HTTP/1.1;")
            try await app.read(through: "GET /ORDERS/1 HTTP/1.1;")
            try await app.close()
            try await origin.connections[0].closed.wait()
            // The tunnel contains neither fields of the request nor fields of netproxy.
            #expect(origin.connections[0].received == "early;GET /orders/1 HTTP/1.1;")
            let line = try await proxy.onlyLine("netproxy")
            let facts = line.facts
            #expect(facts.path == nil)
            #expect(facts.method == "CONNECT")
            #expect(facts.status == 200)
            #expect(facts.bytesIn == 29)
            #expect(facts.bytesOut == 29)
            #expect(try await proxy.allLogs().contains("\"host\":\"127.0.0.1:\(origin.port)\""))
            #expect(try await proxy.log("orders").isEmpty)
        }
    }

    @Test func `a host named in a pattern may be private`() async throws {
        try await ConnectStory.run(connect: "'localhost:%'", ConnectStory.echo) { proxy, origin in
            let app = try await proxy.connect()
            try await app.send(ConnectStory.ask("LOCALHOST:\(origin.port)") + "hello;")
            #expect(try await app.message(.none).status == 200)
            try await app.read(through: "HELLO;")
            try await app.close()
        }
    }

    @Test(arguments: ["'*:%'", "'127.0.0.1:1'", "'localhost:%'", ""])
    func `a destination without a pattern is 403`(patterns: String) async throws {
        try await ConnectStory.run(connect: patterns, ConnectStory.echo) { proxy, origin in
            let app = try await proxy.connect()
            // The bytes after the request were meant for the tunnel and must not be parsed as a request.
            try await app.send(
                ConnectStory.ask("127.0.0.1:\(origin.port)") + Raw.get("/orders/1")
            )
            let answer = try await app.message()
            #expect(answer.status == 403)
            #expect(answer["Content-Type"] == "application/problem+json")
            #expect(answer["Proxy-Status"] == "netproxy; error=http_request_denied")
            #expect(try await app.rest().text.isEmpty)
            #expect(origin.connections.isEmpty)
            let facts = try await proxy.onlyLine("netproxy").facts
            #expect(facts.status == 403)
            #expect(facts.error == "http_request_denied")
        }
    }

    @Test func `no pattern with a wildcard admits the metadata service`() async throws {
        // The address is in 169.254.0.0/16, and the pattern does not name it.
        try await ConnectStory.run(connect: "'*:80'", ConnectStory.echo) { proxy, _ in
            let answer = try await proxy.exchange(ConnectStory.ask("169.254.169.254:80"))
            #expect(answer.status == 403)
        }
    }

    @Test func `a destination that refuses the connection is 502`() async throws {
        let port = RefusingPort.any()
        try await ConnectStory.run(connect: "'127.0.0.1:\(port)'", ConnectStory.echo) {
            proxy,
            _ in
            let answer = try await proxy.exchange(ConnectStory.ask("127.0.0.1:\(port)"))
            #expect(answer.status == 502)
            #expect(answer["Proxy-Status"] == "netproxy; error=connection_refused")
        }
    }

    @Test func `a channel's own listener opens no tunnels`() async throws {
        let origin = try await OriginServer.start(ConnectStory.echo)
        let upstream = "upstream: http://127.0.0.1:\(origin.port)"
        try await DaemonHarness.run(
            channels: "orders: { \(upstream), match: { listen: '127.0.0.1:0' } }",
            root: "connect: ['127.0.0.1:\(origin.port)']"
        ) { proxy async throws in
            let app = try await RawClient.connect(
                to: await proxy.ports[1],
                sending: ConnectStory.ask("127.0.0.1:\(origin.port)")
            )
            #expect(try await app.message().status == 403)
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `a web page cannot open a tunnel`() async throws {
        try await ConnectStory.run(connect: "'127.0.0.1:%'", ConnectStory.echo) {
            proxy,
            origin in
            let answer = try await proxy.exchange(
                ConnectStory.ask("127.0.0.1:\(origin.port)", "Origin: https://evil.example")
            )
            #expect(answer.status == 403)
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `a CONNECT with content is refused`() async throws {
        try await ConnectStory.run(connect: "'127.0.0.1:%'", ConnectStory.echo) {
            proxy,
            origin in
            let answer = try await proxy.exchange(
                ConnectStory.ask("127.0.0.1:\(origin.port)", "Content-Length: 2") + "hi"
            )
            #expect(answer.status == 400)
            #expect(origin.connections.isEmpty)
        }
    }
}
