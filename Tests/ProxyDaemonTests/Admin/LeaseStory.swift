import ProxyDaemon
import TestSupport
import Testing

@Suite struct LeaseStory {
    private func run(
        admin: String = "unix:DIRECTORY/admin.sock",
        _ story: (DaemonHarness) async throws -> Void
    ) async throws {
        let origin = try await OriginServer.start { wire in
            while try await wire.next() != nil { try await wire.send(Raw.ok()) }
        }
        let upstream = "upstream: http://127.0.0.1:\(origin.port)"
        try await DaemonHarness.run(
            channels: """
                orders: { \(upstream), access: { key: "literal:permanent" } }
                bills: { \(upstream), access: { key: "literal:permanent" } }
                free: { \(upstream) }
                """,
            root: "admin: \"\(admin)\"",
            story
        )
    }

    /// Takes a lease; it lasts as long as the wire.
    private func lease(_ query: String, _ proxy: DaemonHarness) async throws -> (ClientLease, Wire)
    {
        let wire = try await proxy.admin(
            sending: Raw.request("POST", "/keys\(query)", fields: ["Netproxy-Admin: 1"])
        )
        try await wire.read(through: "\r\n\r\n")
        try await wire.read(through: "\r\n")
        return (try #require(ClientLease(json: try await wire.read(through: "}\n"))), wire)
    }

    private func status(_ path: String, key: String, _ proxy: DaemonHarness) async throws -> Int {
        let field = "Proxy-Authorization: Bearer \(key)"
        return try await proxy.exchange(Raw.get(path, field)).status
    }

    @Test func `a lent key opens its channel until the lease ends`() async throws {
        try await run { proxy in
            let (lease, wire) = try await lease("?channel=orders", proxy)
            #expect(try await status("/orders/1", key: lease.key, proxy) == 200)
            #expect(try await status("/bills/1", key: lease.key, proxy) == 401)
            #expect(try await status("/free/1", key: lease.key, proxy) == 401)
            #expect(try await status("/orders/1", key: "permanent", proxy) == 200)
            try await wire.close()
            var last = 200
            // The daemon sees the end of the connection in its own time.
            for _ in 0..<1000 where last == 200 {
                last = try await status("/orders/1", key: lease.key, proxy)
            }
            #expect(last == 401)
        }
    }

    @Test func `a lease without a channel is for all of them`() async throws {
        try await run { proxy in
            let (lease, wire) = try await lease("", proxy)
            #expect(lease.channels.map(\.name) == ["orders", "bills", "free"])
            #expect(lease.proxy == "127.0.0.1:\(proxy.port)")
            let base = "http://127.0.0.1:\(proxy.port)"
            let urls = lease.channels.map { "\(base)/\($0.name)" }
            #expect(lease.channels.map(\.url) == urls)
            #expect(try await status("/bills/1", key: lease.key, proxy) == 200)
            await proxy.stop()
            #expect(try await wire.rest().end == .closed)
        }
    }

    @Test func `over a port no key is lent for a channel that demands one`() async throws {
        try await run(admin: "127.0.0.1:0") { proxy in
            let request = Raw.request(
                "POST",
                "/keys?channel=free&channel=bills",
                fields: ["Netproxy-Admin: 1"]
            )
            let refusal = try await proxy.ask(request)
            #expect(refusal.status == 403)
            #expect(refusal.body.contains("bills demands a key"))
            let (lease, wire) = try await lease("", proxy)
            #expect(lease.channels.map(\.name) == ["free"])
            #expect(try await status("/bills/1", key: lease.key, proxy) == 401)
            try await wire.close()
        }
    }

    @Test func `an unknown channel is told`() async throws {
        try await run { proxy in
            let answer = try await proxy.ask(
                Raw.request("POST", "/keys?channel=nobody", fields: ["Netproxy-Admin: 1"])
            )
            #expect(answer.status == 404)
            #expect(answer.body.contains("there are: orders, bills, free"))
        }
    }

    @Test func `a program that no variable leads to the proxy is told of`() throws {
        func warning(_ proxy: String, _ url: String) throws -> String? {
            let channel = #"{"name":"a","url":\#(url),"upstreamHost":"a.example"}"#
            let json = #"{"key":"k","proxy":\#(proxy),"channels":[\#(channel)]}"#
            return try #require(ClientLease(json: json)).warning
        }
        #expect(try warning("null", "null")?.hasPrefix("no listener is on TCP") == true)
        #expect(try warning("null", #""http://127.0.0.1:1""#) == nil)
        #expect(try warning(#""127.0.0.1:1""#, #""http://127.0.0.1:1/a""#) == nil)
    }

    @Test func `the variables lead to the proxy`() throws {
        let lease = try #require(
            ClientLease(
                json: """
                    {"key":"K","proxy":"127.0.0.1:8080","channels":[
                    {"name":"my-orders","url":"http://127.0.0.1:8080/my-orders","upstreamHost":"api.example"},
                    {"name":"local","url":"http://127.0.0.1:8080/local","upstreamHost":"127.0.0.1"}]}
                    """
            )
        )
        let variables = lease.environment(adding: [
            "PATH": "/bin", "no_proxy": "corp.example, api.example", "HTTP_PROXY": "http://other",
        ])
        #expect(variables["PATH"] == "/bin")
        #expect(variables["http_proxy"] == "http://netproxy:K@127.0.0.1:8080")
        #expect(variables["HTTP_PROXY"] == variables["http_proxy"])
        #expect(variables["https_proxy"] == nil)
        #expect(variables["no_proxy"] == "corp.example,localhost,::1,127.0.0.1:8080")
        #expect(variables["NETPROXY_MY_ORDERS_URL"] == "http://127.0.0.1:8080/my-orders")
        #expect(variables["NETPROXY_KEY"] == "K")
        #expect(variables["NODE_USE_ENV_PROXY"] == "1")
    }
}
