import NetproxyCommands
import NetproxyConfig
import NetproxyService
import TestSupport
import Testing

@Suite struct LeaseStory {
    private func run(
        admin: String = "\"unix:DIRECTORY/admin.sock\"",
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
            root: "admin: \(admin)",
            story
        )
    }

    /// Takes a lease, which lasts as long as the wire.
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
            // The daemon notices the end of the connection asynchronously.
            for _ in 0..<1000 where last == 200 {
                last = try await status("/orders/1", key: lease.key, proxy)
            }
            #expect(last == 401)
        }
    }

    @Test func `a unix socket lends keys while Prometheus uses a port`() async throws {
        try await run(admin: "[\"unix:DIRECTORY/admin.sock\", 127.0.0.1:0]") { proxy in
            let metrics = try await proxy.ask(Raw.get("/metrics")).body
            for word in ["connection_refused", "http_request_denied", "credential_unavailable"] {
                #expect(
                    metrics.contains(
                        #"netproxy_errors_total{channel="orders",error="\#(word)"} 0"#
                    )
                )
            }
            let request = Raw.request(
                "POST",
                "/keys?channel=orders",
                fields: ["Netproxy-Admin: 1"]
            )
            #expect(try await proxy.ask(request).status == 403)
            let client = AdminClient(try proxy.configuration().admin)
            let held = try await client.hold(
                .keys,
                AdminQuery([(name: "channel", value: "orders")])
            )
            let lease = try #require(ClientLease(json: held.answer.text))
            #expect(try await status("/orders/1", key: lease.key, proxy) == 200)
            held.close()
        }
    }

    @Test func `a lease without a channel is valid for all channels`() async throws {
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

    @Test func `a port lends no key for a channel that requires one`() async throws {
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

    @Test func `a lease for an unknown channel is refused with the list of channels`() async throws
    {
        try await run { proxy in
            let answer = try await proxy.ask(
                Raw.request("POST", "/keys?channel=nobody", fields: ["Netproxy-Admin: 1"])
            )
            #expect(answer.status == 404)
            #expect(answer.body.contains("there are: orders, bills, free"))
        }
    }

    @Test func `a lease without a TCP listener warns that no variable leads to the proxy`() throws {
        func warning(_ proxy: String, _ url: String) throws -> String? {
            let channel = #"{"name":"a","url":\#(url),"upstreamHost":"a.example"}"#
            let json = #"{"key":"k","proxy":\#(proxy),"channels":[\#(channel)]}"#
            return try #require(ClientLease(json: json)).warning
        }
        #expect(try warning("null", "null")?.hasPrefix("no listener is on TCP") == true)
        #expect(try warning("null", #""http://127.0.0.1:1""#) == nil)
        #expect(try warning(#""127.0.0.1:1""#, #""http://127.0.0.1:1/a""#) == nil)
    }

    @Test func `the variables of a lease point to the proxy`() throws {
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

    private static let lease = """
        {"key":"K","proxy":"127.0.0.1:8080","channels":[
        {"name":"a","url":"http://127.0.0.1:8080/a","upstreamHost":"api.example.com",
        "upstreams":[{"host":"api.example.com","port":443},{"host":"10.1.2.3","port":80}],
        "variables":{"BASE":"http://127.0.0.1:8080/a","KEY":"K"},"missing":{"SOCK":"no socket"}},
        {"name":"b","upstreamHost":"b.test","variables":{"KEY":"K"}}]}
        """

    @Test(arguments: [".example.com", "*", "10.0.0.0/8", "API.example.com"])
    func `a NO_PROXY entry that covers an upstream is dropped and reported`(exception: String)
        throws
    {
        let lease = try #require(ClientLease(json: Self.lease))
        let inherited = ["NO_PROXY": "corp.test \(exception)"]
        let variables = lease.environment(adding: inherited)
        #expect(variables["no_proxy"] == "corp.test,localhost,127.0.0.1,::1,127.0.0.1:8080")
        #expect(variables["NO_PROXY"] == variables["no_proxy"])
        #expect(lease.warnings(adding: inherited).first?.contains("'\(exception)'") == true)
    }

    @Test func `a channel's own variables are set, and one without a value is reported`() throws {
        let lease = try #require(ClientLease(json: Self.lease))
        let variables = lease.environment(adding: [:])
        #expect(variables["BASE"] == "http://127.0.0.1:8080/a" && variables["KEY"] == "K")
        #expect(variables["SOCK"] == nil)
        let warnings = lease.warnings(adding: [:])
        #expect(warnings.count == 2)
        #expect(warnings[0] == "channel a: SOCK is not set: no socket")
        #expect(warnings[1].hasPrefix("KEY is that of channel b, not of a"))
    }

    @Test func `the exec keys provide URL, key, socket and host of the channel`() async throws {
        let words = "exec: { U: url, K: key, S: socket, H: host }"
        try await DaemonHarness.run(
            channels: "orders: { upstream: 'http://127.0.0.1:1', \(words) }",
            root:
                "listen: ['127.0.0.1:0', 'unix:DIRECTORY/app.sock']\nadmin: unix:DIRECTORY/admin.sock"
        ) { proxy in
            let (lease, wire) = try await lease("?channel=orders", proxy)
            let variables = try #require(lease.channels.first?.variables)
            #expect(
                variables == [
                    "U": "http://127.0.0.1:\(proxy.port)/orders", "K": lease.key,
                    "S": "\(proxy.directory)/app.sock", "H": "127.0.0.1:\(proxy.port)",
                ]
            )
            #expect(lease.channels.first?.missing == [:])
            try await wire.close()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: 'http://127.0.0.1:1', \(words) }",
            root: "admin: unix:DIRECTORY/admin.sock"
        ) { proxy in
            let (lease, wire) = try await lease("", proxy)
            #expect(
                lease.channels.first?.missing?["S"]?.contains("add unix:/path to listen") == true
            )
            try await wire.close()
        }
    }

    @Test func `a shaped key opens the channel until the lease ends, and does not go upstream`()
        async throws
    {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: """
                code:
                  upstream: http://127.0.0.1:\(origin.port)
                  access: { key: "literal:permanent" }
                  auth: { header: { name: X-Key, value: "literal:real" } }
                  exec: { TOKEN: "ghp_{key:36}", OTHER: "x-{key:36}", URL: "{keyed_url}/v1" }
                """,
            root: "admin: unix:DIRECTORY/admin.sock"
        ) { proxy in
            let (lease, wire) = try await lease("?channel=code", proxy)
            let variables = try #require(lease.channels.first?.variables)
            let token = try #require(variables["TOKEN"])
            #expect(token.wholeMatch(of: /ghp_[A-Za-z0-9]{36}/) != nil)
            #expect(variables["OTHER"]?.dropFirst(2) == token.dropFirst(4))
            #expect(
                variables["URL"] == "http://netproxy:\(lease.key)@127.0.0.1:\(proxy.port)/code/v1"
            )
            for field in [
                "Authorization: Bearer \(token)", "X-Key: \(token)",
                "Authorization: token \(token.dropFirst(4))", "X-Key: \(lease.key)",
            ] {
                #expect(
                    try await proxy.exchange(Raw.get("/code/a", field)).status == 200,
                    "\(field)"
                )
            }
            let sent = origin.requests.flatMap(\.fields).map(\.value).joined()
            #expect(!sent.contains(token.dropFirst(4)))
            try await wire.close()
            var last = 200
            // The daemon notices the end of the connection asynchronously.
            for _ in 0..<1000 where last == 200 {
                last = try await proxy.exchange(Raw.get("/code/a", "X-Key: \(token)")).status
            }
            #expect(last == 401)
        }
    }
}
