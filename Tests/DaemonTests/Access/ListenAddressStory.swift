import TestSupport
import Testing

/// Requests in absolute-form whose authority is the proxy itself (RFC 9112 §3.2.2).
///
/// A program sends them if it uses the proxy and requests one of the proxy's own URLs.
@Suite struct ListenAddressStory {
    private static func ask(_ authority: String, _ path: String, _ fields: String...) -> String {
        (["GET http://\(authority)\(path) HTTP/1.1", "Host: \(authority)"] + fields)
            .map { "\($0)\r\n" }.joined() + "\r\n"
    }

    private func run(
        _ channel: String = "",
        root: String = "",
        _ story: (DaemonHarness, OriginServer) async throws -> Void
    ) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok("from the origin") }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port)/v1\(channel) }",
            root: root
        ) { try await story($0, origin) }
    }

    @Test(arguments: ["127.0.0.1", "localhost", "LOCALHOST"])
    func `a request in absolute-form for the proxy itself is served`(
        host: String
    ) async throws {
        try await run { proxy, origin in
            let answer = try await proxy.exchange(
                ListenAddressStory.ask("\(host):\(proxy.port)", "/orders/42?x=1")
            )
            #expect(answer.status == 200)
            #expect(origin.requests.map(\.startLine) == ["GET /v1/42?x=1 HTTP/1.1"])
            #expect(origin.requests.first?["Host"] == "127.0.0.1:\(origin.port)")
        }
    }

    @Test(arguments: ["127.0.0.1", "[::1]", "localhost"])
    func `a wildcard listener serves every address of this machine`(
        host: String
    ) async throws {
        try await run(root: "listen: 0.0.0.0:0\nallow_remote: true") { proxy, origin in
            let answer = try await proxy.exchange(
                ListenAddressStory.ask("\(host):\(proxy.port)", "/orders/42")
            )
            #expect(answer.status == 200)
            let foreign = try await proxy.exchange(
                ListenAddressStory.ask("192.0.2.1:\(proxy.port)", "/orders/42")
            )
            #expect(foreign.status == 403)
            #expect(origin.requests.count == 1)
        }
    }

    @Test func `another port of the same host is another server`() async throws {
        try await run { proxy, origin in
            let answer = try await proxy.exchange(
                ListenAddressStory.ask("127.0.0.1:\(proxy.port - 1)", "/orders/42")
            )
            #expect(answer.status == 403)
            #expect(answer["Proxy-Status"] == "netproxy; error=no_channel")
            let secure = try await proxy.exchange(
                "GET https://127.0.0.1:\(proxy.port)/orders/42 HTTP/1.1\r\n"
                    + "Host: 127.0.0.1:\(proxy.port)\r\n\r\n"
            )
            #expect(secure.status == 403)
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `an unclaimed path of the proxy itself is 404 and never forwarded`() async throws {
        try await run(root: "unmatched: forward") { proxy, origin in
            let answer = try await proxy.exchange(
                ListenAddressStory.ask("127.0.0.1:\(proxy.port)", "/nowhere")
            )
            #expect(answer.status == 404)
            #expect(answer["Proxy-Status"] == "netproxy; error=no_channel")
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `netproxy responds to OPTIONS for itself`() async throws {
        try await run { proxy, origin in
            let authority = "127.0.0.1:\(proxy.port)"
            let answer = try await proxy.exchange(
                "OPTIONS http://\(authority) HTTP/1.1\r\nHost: \(authority)\r\n\r\n"
            )
            #expect((200..<300).contains(answer.status))
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `a channel's own listener is identified by its address`() async throws {
        try await run(", match: { listen: '127.0.0.1:0' }") { proxy, origin in
            let ports = await proxy.ports
            let answer = try await proxy.exchange(
                ListenAddressStory.ask("127.0.0.1:\(ports[1])", "/orders/42")
            )
            #expect(answer.status == 200)
            // On its own listener the channel has no prefix.
            #expect(origin.requests.map(\.startLine) == ["GET /v1/orders/42 HTTP/1.1"])
        }
    }

    @Test func `a reload can assign a listener to another channel`() async throws {
        let origin = try await OriginServer.start { Raw.ok($0.startLine) }
        func channel(_ name: String, at port: Int) -> String {
            let upstream = "http://127.0.0.1:\(origin.port)/\(name)"
            return "\(name): { upstream: '\(upstream)', match: { listen: '127.0.0.1:\(port)' } }"
        }
        try await DaemonHarness.run(channels: channel("a", at: 0)) { proxy in
            let port = await proxy.ports[1]
            let request = ListenAddressStory.ask("127.0.0.1:\(port)", "/42")
            let before = try await proxy.exchange(request)
            await proxy.reload(channels: channel("b", at: port))
            let after = try await proxy.exchange(request)
            #expect(before.body == "GET /a/42 HTTP/1.1")
            #expect(after.body == "GET /b/42 HTTP/1.1")
        }
    }

    @Test func `a listener closed by a reload no longer identifies the proxy`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let upstream = "upstream: http://127.0.0.1:\(origin.port)"
        let own = ", match: { listen: '127.0.0.1:0' }"
        try await DaemonHarness.run(channels: "orders: { \(upstream)\(own) }") { proxy in
            let request = ListenAddressStory.ask("127.0.0.1:\(await proxy.ports[1])", "/42")
            let before = try await proxy.exchange(request)
            await proxy.reload(channels: "orders: { \(upstream) }")
            let after = try await proxy.exchange(request)
            #expect((before.status, after.status) == (200, 403))
        }
    }

    @Test(arguments: [
        ("Origin: https://evil.example", "{}", 403),
        ("Sec-Fetch-Site: cross-site", "{}", 403),
        ("X-Nothing: 1", "{ key: 'literal:k' }", 407),
        ("Proxy-Authorization: Bearer wrong", "{ key: 'literal:k' }", 407),
        ("Proxy-Authorization: Bearer k", "{ key: 'literal:k' }", 200),
        ("X-Nothing: 1", "{ users: [4294967294] }", 403),
    ])
    func `the channel's rules apply to a target in absolute-form`(
        field: String,
        access: String,
        status: Int
    ) async throws {
        try await run(", access: \(access)") { proxy, origin in
            let answer = try await proxy.exchange(
                ListenAddressStory.ask("127.0.0.1:\(proxy.port)", "/orders/42", field)
            )
            #expect(answer.status == status)
            #expect(origin.connections.isEmpty == (status != 200))
        }
    }

    @Test func `a channel that points to the proxy's own URL ends as a loop`() async throws {
        try await run { proxy, _ in
            await proxy.reload(
                channels: "orders: { upstream: http://127.0.0.1:\(proxy.port)/orders }"
            )
            let answer = try await proxy.exchange(
                ListenAddressStory.ask("127.0.0.1:\(proxy.port)", "/orders/42")
            )
            #expect(answer.status == 508)
        }
    }
}
