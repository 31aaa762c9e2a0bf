import FoundationEssentials
import NetproxyService
import TestSupport
import Testing

@Suite struct StatusTests {
    @Test func `the command can parse the daemon's status`() async throws {
        let origin = try await OriginServer.start { wire in
            while try await wire.next() != nil { try await wire.send(Raw.ok()) }
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/1"))
            let answer = try await proxy.ask(Raw.get("/status"))
            #expect(answer.body.contains("\"log_lines_dropped\":0"))
            let status = try #require(DaemonStatus(json: answer.body))
            #expect(status.state == "serving")
            #expect(status.channels[0].statuses == ["2xx": 1])
            let traffic = "  traffic  1 request (2xx 1), 0 netproxy errors, 0 retries"
            #expect(status.lines.contains(traffic))
        }
    }

    @Test func `the page shows the status without scripts`() async throws {
        try await DaemonHarness.run(channels: "orders: { upstream: http://127.0.0.1:9 }") { proxy in
            let page = try await proxy.ask(Raw.get("/")).body
            let text = page.split(separator: "<noscript>").last?
                .split(separator: "</noscript>").first
            #expect(try #require(text).contains("/orders → http://127.0.0.1:9\n"))
        }
    }

    @Test func `a draining daemon shows no listener`() throws {
        let json = """
            {"uptime_s":5,"state":"draining","listen":[],"workers":1,"connections":1,
            "log_lines_dropped":0,"channels":[]}
            """
        let status = try #require(DaemonStatus(json: json))
        #expect(status.lines == ["draining, up for 5 s, 1 connection, 1 worker"])
    }

    @Test func `a channel without a sign-in shows how to sign in`() async throws {
        try await DaemonHarness.run(
            channels: """
                mail:
                  upstream: http://127.0.0.1:9
                  auth:
                    oauth:
                      grant: authorization_code
                      token_url: http://127.0.0.1:9/token
                      authorization_url: http://127.0.0.1:9/authorize
                      client_id: mail
                      client_auth: none
                """
        ) { proxy in
            // The store is read first.
            let isTold = await eventually {
                let answer = try? await proxy.ask(Raw.get("/status"))
                let lines = answer.flatMap { DaemonStatus(json: $0.body) }?.lines ?? []
                return lines.contains { $0.hasSuffix(": netproxy login mail") }
            }
            #expect(isTold)
            #expect(try await proxy.exchange(Raw.get("/mail/1")).status == 503)
            let status = DaemonStatus(json: try await proxy.ask(Raw.get("/status")).body)
            let words = "dead, sign in again: netproxy login mail"
            #expect(try #require(status).lines.contains { $0.hasSuffix(words) })
        }
    }

    @Test func `an empty channel shows that no one has signed in`() throws {
        let json = #"{"state":"empty","advice":"netproxy login mail"}"#
        let token = try JSONDecoder().decode(DaemonStatus.Token.self, from: Data(json.utf8))
        let words = "empty, no one has signed in yet: netproxy login mail"
        #expect(token.summary(of: "mail") == words)
    }

    @Test func `the state of a token is a metric`() async throws {
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:9
                  auth: { oauth: { token_url: 'http://127.0.0.1:9/', client_id: a, client_auth: none } }
                """
        ) { proxy in
            let metrics = try await proxy.ask(Raw.get("/metrics")).body
            #expect(metrics.contains(#"netproxy_token_state{channel="orders",state=""#))
            #expect(metrics.contains(#"netproxy_upstream_waiting_requests{channel="orders"} 0"#))
        }
    }

    @Test func `unclaimed requests are counted`() async throws {
        try await DaemonHarness.run(channels: "orders: { upstream: http://127.0.0.1:9 }") { proxy in
            for path in ["/nowhere", "/elsewhere"] { _ = try await proxy.exchange(Raw.get(path)) }
            let metrics = try await proxy.ask(Raw.get("/metrics")).body
            #expect(metrics.contains(#"netproxy_unclaimed_requests_total{status="4xx"} 2"#))
            let status = try #require(
                DaemonStatus(json: try await proxy.ask(Raw.get("/status")).body)
            )
            #expect(status.lines.last == "  traffic  2 requests (4xx 2)")
        }
    }

    @Test func `a token's state shows the error of the server`() throws {
        let json = """
            {"uptime_s":3725,"state":"serving","listen":["127.0.0.1:8080"],"workers":2,
            "connections":1,"log_lines_dropped":0,"channels":[{"name":"orders",
            "upstream":"https://api.example","pool":{"open":1,"idle":1,"queued":0},"requests":0,
            "errors":0,"retries":1,"statuses":{},"bytes_in":0,"bytes_out":0,
            "token":{"state":"failed","generation":3,"age_s":75,"expires_in_s":-2,
            "refresh_expires_in_s":90000,"waiters":2,"scope":"",
            "last_error":"invalid_client: who are you?","next_attempt_s":4.6}}]}
            """
        #expect(
            try #require(DaemonStatus(json: json)).lines == [
                "serving on 127.0.0.1:8080 for 1 h 2 min, 1 connection, 2 workers",
                "orders → https://api.example",
                "  traffic  0 requests, 0 netproxy errors, 1 retry",
                "  pool     1 open, 1 idle, 0 waiting",
                "  token    failed, generation 3, 1 min 15 s old, expired, sign-in ends in 1 d 1 h, "
                    + "2 requests waiting, next attempt in 5 s",
                "           last error: invalid_client: who are you?",
            ]
        )
    }

    @Test func `the overview has one line for each channel, those in trouble first`() throws {
        let rest =
            #""requests":0,"errors":0,"retries":0,"statuses":{},"bytes_in":0,"bytes_out":0,"#
            + #""pool":{"open":0,"idle":0,"queued":0}}"#
        let json = """
            {"uptime_s":5,"state":"serving","listen":["127.0.0.1:8080"],"workers":1,"connections":0,
            "log_lines_dropped":0,"channels":[
            {"name":"a","url":"http://127.0.0.1:8080/a","upstream":"https://a.test","state":"idle",
            \(rest),
            {"name":"long","upstream":"https://b.test","state":"working","success_age_s":3,\(rest),
            {"name":"mail","upstream":"https://c.test","state":"sign-in",
            "token":{"state":"dead","advice":"netproxy login mail"},\(rest),
            {"name":"bad","upstream":"https://d.test","state":"failed",
            "failure":{"age_s":61,"status":401,"detail":"the API refused the channel's credential (401)"},
            \(rest)]}
            """
        let status = try #require(DaemonStatus(json: json))
        #expect(
            status.overview.dropFirst() == [
                "  failed   bad   no TCP listener → https://d.test; 1 min 1 s ago the API refused the "
                    + "channel's credential (401)",
                "  sign-in  mail  no TCP listener → https://c.test; netproxy login mail",
                "  idle     a     http://127.0.0.1:8080/a → https://a.test",
                "  working  long  no TCP listener → https://b.test; last success 3 s ago",
            ]
        )
        let details = try #require(status.details(of: "bad"))
        #expect(details.contains { $0.hasPrefix("  state    failed, 1 min") })
        #expect(status.details(of: "nobody") == nil)
    }
}
