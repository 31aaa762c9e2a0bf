import TestSupport
import Testing

@Suite struct ReauthorizationStory {
    /// Returns an endpoint that issues `token-1`, `token-2`, … by connection and request.
    private func tokenEndpoint() async throws -> OriginServer {
        let counter = Counter()
        return try await OriginServer.start { _ in
            let token = "token-\(counter.next())"
            return Raw.ok(
                #"{"access_token":"\#(token)","token_type":"Bearer","expires_in":3600}"#,
                "Content-Type: application/json"
            )
        }
    }

    private func api(accepting token: String) async throws -> OriginServer {
        try await OriginServer.start { request in
            guard request["Authorization"] == "Bearer \(token)" else {
                return Raw.response(
                    "401 Unauthorized",
                    fields: [#"WWW-Authenticate: Bearer error="invalid_token""#],
                    body: "denied"
                )
            }
            return Raw.ok(request.body)
        }
    }

    private func channel(_ origin: OriginServer, _ tokens: OriginServer, _ more: String = "")
        -> String
    {
        """
        orders:
          upstream: http://127.0.0.1:\(origin.port)
          auth:
            oauth:
              grant: client_credentials
              token_url: http://127.0.0.1:\(tokens.port)/token
              client_id: orders
              client_secret: literal:c4nary-S3cret
          \(more)
        """
    }

    @Test func `a 401 is replayed with a new token and the same body`() async throws {
        let tokens = try await tokenEndpoint()
        let origin = try await api(accepting: "token-2")
        try await DaemonHarness.run(channels: channel(origin, tokens)) { proxy in
            let answer = try await proxy.exchange(Raw.post("/orders/1", body: "precious"))
            #expect(answer.status == 200)
            #expect(answer.body == "precious")
            #expect(origin.requests.map(\.body) == ["precious", "precious"])
            #expect(
                tokens.requests.map(\.startLine)
                    == Array(repeating: "POST /token HTTP/1.1", count: 2)
            )
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.retries == ["unauthorized"])
            #expect(facts.auth?.refreshed == true)
            let logs = try await proxy.allLogs() + proxy.reports.joined()
            #expect(!logs.contains("c4nary"))
            #expect(!logs.contains("token-1"))
            #expect(!logs.contains("token-2"))
        }
    }

    @Test func `without a replay, the next request has a new token`() async throws {
        let tokens = try await tokenEndpoint()
        let origin = try await api(accepting: "token-2")
        let channel = channel(origin, tokens, "retry: { unauthorized: false }")
        try await DaemonHarness.run(channels: channel) { proxy in
            let refused = try await proxy.exchange(Raw.post("/orders/1", body: "precious"))
            #expect(refused.status == 401)
            #expect(refused.body == "denied")
            let answer = try await proxy.exchange(Raw.post("/orders/1", body: "precious"))
            #expect(answer.status == 200)
            #expect(origin.requests.count == 2)
            #expect(tokens.requests.count == 2)
            let facts = try await proxy.log("orders").map(\.facts)
            #expect(facts.map { $0.auth?.notReplayed } == ["replay_off", nil])
            #expect(facts.map(\.retries) == [nil, nil])
        }
    }

    @Test(arguments: [
        (
            true,
            "put another token in the place that auth.oauth.refresh_token names, "
                + "then netproxy reload"
        ),
        (false, "netproxy login orders"),
    ])
    func `the error for a dead refresh token contains the remedy`(
        isConfigured: Bool,
        advice: String
    ) async throws {
        let tokens = try await OriginServer.start { _ in
            Raw.response("400 Bad Request", body: #"{"error":"invalid_grant"}"#)
        }
        let page = "http://127.0.0.1:\(tokens.port)/authorize"
        let channel = """
            orders:
              upstream: http://127.0.0.1:9
              auth:
                oauth:
                  grant: refresh_token
                  token_url: http://127.0.0.1:\(tokens.port)/token
                  client_id: orders
                  client_auth: none
                  refresh_token: literal:dead
                  \(isConfigured ? "" : "authorization_url: \(page)")
            """
        try await DaemonHarness.run(channels: channel) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 503)
            #expect(answer.body.contains("sign in again, or configure another refresh token"))
            #expect(answer.body.contains(": \(advice)\""))
        }
    }

    @Test func `a token that is refused for good is not logged if the API repeats it`()
        async throws
    {
        let tokens = try await tokenEndpoint()
        let origin = try await OriginServer.start { request in
            Raw.response(
                "401 Unauthorized",
                fields: ["WWW-Authenticate: Bearer", "X-Seen: \(request["Authorization"] ?? "")"]
            )
        }
        let channel = channel(origin, tokens, "log: { headers: [X-Seen] }")
        try await DaemonHarness.run(channels: channel) { proxy in
            for _ in 1...3 { _ = try await proxy.exchange(Raw.get("/orders/1")) }
            let lines = try await proxy.log("orders")
            #expect(lines.count { $0.text.contains(#""x-seen":"<redacted>""#) } == 3)
            let logs = try await proxy.allLogs()
            #expect(!logs.contains("token-"))
        }
    }

    @Test func `a 401 with stalled content does not delay the replay until the idle timeout`()
        async throws
    {
        let (counter, over) = (Counter(), Gate())
        let tokens = try await tokenEndpoint()
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            guard counter.next() == 1 else { return try await wire.send(Raw.ok("cured")) }
            try await wire.send(
                "HTTP/1.1 401 Unauthorized\r\nContent-Length: 20\r\n"
                    + "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n\r\nden"
            )
            try await over.wait()
        }
        defer { over.open() }
        let more = "timeouts: { idle: 1h, response: 1h }"
        try await DaemonHarness.run(channels: channel(origin, tokens, more)) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 200)
            #expect(answer.body == "cured")
            #expect(try await proxy.onlyLine("orders").facts.retries == ["unauthorized"])
        }
    }

    @Test func `a client that disconnects does not cancel the token request`() async throws {
        let (counter, asked, left) = (Counter(), Gate(), Gate())
        let tokens = try await OriginServer.start { wire in
            while try await wire.next() != nil {
                let number = counter.next()
                if number == 2 {
                    asked.open()
                    try await left.wait()
                }
                try await wire.send(
                    Raw.ok(
                        #"{"access_token":"token-\#(number)","token_type":"Bearer","expires_in":3600}"#,
                        "Content-Type: application/json"
                    )
                )
            }
        }
        let origin = try await api(accepting: "token-2")
        try await DaemonHarness.run(channels: channel(origin, tokens)) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            try await asked.wait()
            try await app.reset()
            // The client's exchange is over, but other requests need the token.
            #expect(await proxy.hasLoggedExchange("orders"))
            left.open()
            #expect(try await proxy.exchange(Raw.get("/orders/2")).status == 200)
            #expect(tokens.requests.count == 2)
            let lines = try await proxy.log("orders")
            #expect(lines.map(\.facts.status) == [499, 200])
        }
    }

    @Test func `a streamed body is replayed`() async throws {
        let tokens = try await tokenEndpoint()
        let origin = try await api(accepting: "token-2")
        try await DaemonHarness.run(channels: channel(origin, tokens)) { proxy in
            let answer = try await proxy.exchange(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "3\r\npre\r\n5\r\ncious\r\n0\r\n\r\n"
            )
            #expect(answer.status == 200)
            #expect(answer.body == "precious")
            #expect(origin.requests.map(\.body) == ["precious", "precious"])
        }
    }

    @Test func `the upstream's own 401 is returned if a new token does not help`() async throws {
        let tokens = try await tokenEndpoint()
        let origin = try await api(accepting: "never")
        try await DaemonHarness.run(channels: channel(origin, tokens)) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 401)
            #expect(answer.body == "denied")
            #expect(answer["WWW-Authenticate"] == #"Bearer error="invalid_token""#)
            #expect(origin.requests.count == 2)
        }
    }

    /// Takes a second: this origin never responds to the `Expect` of an untried token.
    @Test func `a body above the limit is not replayed, and the log records it`() async throws {
        let tokens = try await tokenEndpoint()
        let origin = try await api(accepting: "token-2")
        let channel = channel(origin, tokens, "retry: { replay_body: 1KiB }")
        let body = String(repeating: "x", count: 200_000)
        try await DaemonHarness.run(channels: channel) { proxy in
            let answer = try await proxy.exchange(Raw.post("/orders/1", body: body))
            #expect(answer.status == 401)
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.auth?.notReplayed == "body_not_replayable")
        }
    }

    @Test func `a body above the limit is kept on disk if the channel says so`() async throws {
        let tokens = try await tokenEndpoint()
        let origin = try await api(accepting: "token-2")
        let channel = channel(origin, tokens, "retry: { replay_body: 1KiB, spill: 1MiB }")
        let body = String(repeating: "precious ", count: 20_000)
        try await DaemonHarness.run(channels: channel) { proxy in
            let answer = try await proxy.exchange(Raw.post("/orders/1", body: body))
            #expect(answer.status == 200)
            #expect(answer.body == body)
            #expect(origin.requests.map(\.body.utf8.count) == [body.utf8.count, body.utf8.count])
            #expect(try await proxy.onlyLine("orders").facts.retries == ["unauthorized"])
        }
    }

    @Test func `many requests with one dead token refresh it once`() async throws {
        let tokens = try await tokenEndpoint()
        let origin = try await api(accepting: "token-2")
        try await DaemonHarness.run(channels: channel(origin, tokens)) { proxy in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 1...50 {
                    group.addTask { try await proxy.exchange(Raw.get("/orders/\(number)")).status }
                }
                for try await status in group { #expect(status == 200) }
            }
            #expect(tokens.requests.count == 2)
        }
    }

    @Test func `without a token the response is 503 with Retry-After`() async throws {
        let tokens = try await OriginServer.start { _ in Raw.response("500 Broken") }
        let origin = try await api(accepting: "token-1")
        try await DaemonHarness.run(channels: channel(origin, tokens)) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 503)
            #expect(answer["Proxy-Status"] == "netproxy; error=credential_unavailable")
            #expect(answer.values("Retry-After").count == 1)
            #expect(origin.requests.isEmpty)
        }
    }

    @Test func `an exchange that waits for a token at the end of the drain is 504`() async throws {
        let asked = Gate()
        let tokens = try await OriginServer.start { wire in
            _ = try await wire.message()
            asked.open()
            try await wire.rest()
        }
        let origin = try await api(accepting: "token-1")
        // Waits for a drain of 200 ms.
        try await DaemonHarness.run(channels: channel(origin, tokens), root: "drain: 200ms") {
            proxy async throws in
            let app = try await RawClient.connect(to: proxy.port, sending: Raw.get("/orders/1"))
            try await asked.wait()
            await proxy.stop()
            #expect(try await app.rest().text.hasPrefix("HTTP/1.1 504 "))
            #expect(try await proxy.onlyLine("orders").facts.error == "http_response_timeout")
        }
    }

    @Test func `an exchange whose total timeout expires while it waits for a token is 504`()
        async throws
    {
        let tokens = try await OriginServer.start { wire in try await wire.rest() }
        let origin = try await api(accepting: "token-1")
        // Waits for a timeout of 50 ms.
        let channel = channel(origin, tokens, "timeouts: { total: 50ms }")
        try await DaemonHarness.run(channels: channel) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 504)
            #expect(answer["Proxy-Status"] == "netproxy; error=http_response_timeout")
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.error == "http_response_timeout")
            #expect(facts.attempts == 0)
            #expect(origin.requests.isEmpty)
        }
    }
}
