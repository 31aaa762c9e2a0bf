import NetproxyConfig
import NetproxyHTTP2
import NetproxyHTTPMessage
import NetproxyService
import TestSupport
import Testing

/// A channel with a limited number of requests.
@Suite struct RateStory {
    private func run(
        _ rate: String,
        _ more: String = "",
        root: String = "",
        _ story: (DaemonHarness, OriginServer) async throws -> Void
    ) async throws {
        let origin = try await OriginServer.start { wire in
            while try await wire.next() != nil { try await wire.send(Raw.ok()) }
        }
        try await DaemonHarness.run(
            channels: """
                orders: { upstream: 'http://127.0.0.1:\(origin.port)', rate: { \(rate) }\(more) }
                """,
            root: root
        ) { try await story($0, origin) }
    }

    @Test func `a request beyond the limit is refused with the reason and not sent`() async throws {
        try await run("requests: 1, per: 1h, burst: 2") { proxy, origin in
            for _ in 1...2 {
                #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            }
            let answer = try await proxy.exchange(Raw.post("/orders/2", body: "more"))
            #expect(answer.status == 429)
            #expect(answer["Retry-After"] == "3600")
            #expect(answer["Proxy-Status"] == "netproxy; error=rate_limited")
            #expect(answer["Content-Type"] == "application/problem+json")
            #expect(answer.body.contains(#""type":"urn:netproxy:error:rate_limited""#))
            #expect(
                answer.body.contains(
                    "the channel's rate is used up (requests: 1, per: 1h, burst: 2); "
                        + "try again in 3600 s"
                )
            )
            #expect(origin.requests.count == 2)
            let metrics = try await proxy.ask(Raw.get("/metrics")).body
            #expect(
                metrics.contains(
                    #"netproxy_errors_total{channel="orders",error="rate_limited"} 1"#
                )
            )
            let last = try #require(try await proxy.log("orders").last)
            #expect(last.facts.error == "rate_limited" && last.facts.status == 429)
        }
    }

    @Test func `a request refused by the access rules does not count, and a handshake counts once`()
        async throws
    {
        try await run("requests: 1, per: 1h, burst: 2", ", access: { methods: [GET] }") {
            proxy,
            _ in
            let delete = Raw.request("DELETE", "/orders/1")
            let upgrade = Raw.get("/orders/1", "Connection: Upgrade", "Upgrade: websocket")
            var statuses: [Int] = []
            for request in [delete, delete, delete, upgrade]
                + Array(repeating: Raw.get("/orders/1"), count: 2)
            {
                statuses.append(try await proxy.exchange(request).status)
            }
            #expect(statuses == [403, 403, 403, 200, 200, 429])
        }
    }

    @Test func `a request beyond the limit causes no token request`() async throws {
        let tokens = try await OriginServer.start { _ in Raw.response("500 Oops") }
        let oauth =
            "token_url: 'http://127.0.0.1:\(tokens.port)/t', client_id: a, client_secret: 'literal:s'"
        try await run("requests: 1, per: 1h", ", auth: { oauth: { \(oauth) } }") { proxy, _ in
            let first = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(first.status == 503)
            let before = tokens.requests.count
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 429)
            #expect(tokens.requests.count == before)
        }
    }

    @Test func `a client that waited is served, and a reload keeps the count`() async throws {
        try await run("requests: 1, per: 1h, burst: 1") { proxy, origin in
            let upstream = "upstream: 'http://127.0.0.1:\(origin.port)'"
            let rate = "rate: { requests: 1, per: 1h, burst: 1 }"
            func status() async throws -> Int {
                try await proxy.exchange(Raw.get("/orders/1")).status
            }
            var statuses = [try await status()]
            await proxy.reload(
                channels: "orders: { \(upstream), \(rate), log: { category: other } }"
            )
            statuses.append(try await status())
            await proxy.advance(by: .seconds(3601))
            statuses.append(try await status())
            statuses.append(try await status())
            await proxy.reload(channels: "orders: { \(upstream) }")
            statuses.append(try await status())
            #expect(statuses == [200, 429, 200, 429, 200])
        }
    }

    @Test func `each lent key has its own limit`() async throws {
        try await run(
            "each_key: { requests: 1, per: 1h, burst: 2 }",
            root: "admin: \"unix:DIRECTORY/admin.sock\""
        ) { proxy, _ in
            var wires: [Wire] = []
            for _ in 1...2 {
                let wire = try await proxy.admin(
                    sending: Raw.request("POST", "/keys", fields: ["Netproxy-Admin: 1"])
                )
                wires.append(wire)
                try await wire.read(through: "\r\n\r\n")
                try await wire.read(through: "\r\n")
                let lease = try #require(ClientLease(json: try await wire.read(through: "}\n")))
                var found: [Int] = []
                for _ in 1...3 {
                    let field = "Proxy-Authorization: Bearer \(lease.key)"
                    found.append(try await proxy.exchange(Raw.get("/orders/1", field)).status)
                }
                #expect(found == [200, 200, 429])
            }
            for _ in 1...3 {
                #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            }
        }
    }

    @Test func `a gRPC call beyond the limit gets the status RESOURCE_EXHAUSTED`() async throws {
        try await run("requests: 1, per: 1h") { proxy, _ in
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            let app = HTTP2Peer(try await proxy.connect(), as: .client)
            try await app.flush()
            let stream = try await app.request(
                .post,
                "/orders.Orders/Get",
                host: "orders.localhost",
                ["Content-Type": "application/grpc", "TE": "trailers"],
                content: "\0\0\0\0\u{1}x"
            )
            let answer = try await app.message(on: stream)
            #expect(answer.status == 200)
            #expect(answer["grpc-status"] == "8")
            #expect(answer["retry-after"] == "3600")
            #expect(answer["proxy-status"] == "netproxy; error=rate_limited")
        }
    }
}
