import NetproxyRequestLog
import NetproxyService
import Synchronization
import TestSupport
import Testing

/// Credentials shared by several channels, and several credentials of one channel.
@Suite struct IdentityStory {
    /// Starts an API with its authorization server.
    ///
    /// Each refresh token is accepted once, and the response contains its number and its scope.
    private func server(lifetime: Int = 3600) async throws -> OriginServer {
        let counter = Counter()
        return try await OriginServer.start { request in
            guard request.startLine.hasPrefix("POST /token") else {
                return Raw.ok(request["authorization"] ?? "none")
            }
            let number = counter.next()
            let isCurrent =
                number == 1 || request.body.contains("refresh_token=r\(number - 1)&")
                || request.body.hasSuffix("refresh_token=r\(number - 1)")
            guard isCurrent else {
                return Raw.response("400 Bad Request", body: #"{"error":"invalid_grant"}"#)
            }
            let scope =
                request.body.split(separator: "&").first { $0.hasPrefix("scope=") }
                .map { "-" + $0.dropFirst(6) } ?? ""
            return Raw.ok(
                #"{"access_token":"a\#(number)\#(scope)","token_type":"Bearer","#
                    + #""expires_in":\#(lifetime),"refresh_token":"r\#(number)"}"#,
                "Content-Type: application/json"
            )
        }
    }

    private func identities(_ server: OriginServer) -> String {
        """
        identities:
          work:
            oauth:
              grant: refresh_token
              refresh_token: literal:first
              token_url: http://127.0.0.1:\(server.port)/token
              client_id: app
              client_auth: none
              scopes: [mail, drive]
        """
    }

    private func channels(_ server: OriginServer, _ auths: String...) -> String {
        auths.enumerated().map { index, auth in
            "c\(index): { upstream: 'http://127.0.0.1:\(server.port)', auth: \(auth) }"
        }.joined(separator: "\n")
    }

    private func body(_ path: String, _ proxy: DaemonHarness) async throws -> String {
        try await proxy.exchange(Raw.get(path)).body
    }

    @Test func `channels with one identity share its token and its renewals`() async throws {
        let server = try await server()
        try await DaemonHarness.run(
            channels: channels(server, "[work]", "{ identity: work }"),
            root: identities(server)
        ) { proxy in
            #expect(try await body("/c0/1", proxy) == "Bearer a1")
            #expect(try await body("/c1/1", proxy) == "Bearer a1")
            let refresh = Raw.request(
                "POST",
                "/channels/work/token/refresh",
                fields: ["Netproxy-Admin: 1"]
            )
            #expect(try await proxy.ask(refresh).body == "the token of work was renewed\n")
            #expect(try await body("/c0/1", proxy) == "Bearer a2")
            #expect(try await body("/c1/1", proxy) == "Bearer a2")
            let status = try #require(
                DaemonStatus(json: try await proxy.ask(Raw.get("/status")).body)
            )
            let identity = try #require(status.identities?.first)
            #expect(identity.name == "work")
            #expect(identity.channels == ["c0", "c1"])
            #expect(identity.token?.generation == 2)
            #expect(status.channels.map(\.identities) == [["work"], ["work"]])
            #expect(status.lines.contains("identity work of c0, c1"))
            let metrics = try await proxy.ask(Raw.get("/metrics")).body
            #expect(metrics.contains(#"netproxy_token_renewals_total{identity="work"} 2"#))
            #expect(!metrics.contains(#"netproxy_token_renewals_total{channel="#))
            #expect(try await proxy.log("c1").last?.facts.auth?.identity == "work")
            let events = try await proxy.allLogs().split(separator: "\n")
            #expect(
                events.contains {
                    $0.contains("token renewed") && $0.contains(#""identity":"work""#)
                }
            )
        }
    }

    @Test func `a channel with fewer scopes has its own token from the same sign-in`()
        async throws
    {
        let server = try await server()
        try await DaemonHarness.run(
            channels: channels(server, "[work]", "{ identity: work, scopes: [mail] }"),
            root: identities(server)
        ) { proxy in
            #expect(try await body("/c0/1", proxy) == "Bearer a1")
            // The request uses the refresh token that the other channel received.
            #expect(try await body("/c1/1", proxy) == "Bearer a2-mail")
            #expect(try await body("/c0/1", proxy) == "Bearer a1")
            #expect(try await body("/c1/1", proxy) == "Bearer a2-mail")
            let status = try #require(
                DaemonStatus(json: try await proxy.ask(Raw.get("/status")).body)
            )
            #expect(status.identities?.first?.tokens.count == 2)
        }
    }

    @Test func `a reload keeps the token of an identity while channels are added and removed`()
        async throws
    {
        let server = try await server()
        let root = identities(server)
        try await DaemonHarness.run(channels: channels(server, "[work]"), root: root) { proxy in
            let first = try await body("/c0/1", proxy)
            #expect(first == "Bearer a1")
            await proxy.reload(channels: channels(server, "[work]", "[work]"), root: root)
            #expect(try await body("/c1/1", proxy) == "Bearer a1")
            await proxy.reload(
                channels: channels(server, "{ identity: work, scopes: [mail] }"),
                root: root
            )
            #expect(try await body("/c0/1", proxy) == "Bearer a2-mail")
            await proxy.reload(
                channels: channels(server, "[work]").replacing("c0", with: "other"),
                root: root
            )
            #expect(try await body("/other/1", proxy) == "Bearer a1")
        }
    }

    /// Starts an API that limits one of its keys.
    private func limiting() async throws -> OriginServer {
        try await OriginServer.start { request in
            request["x-key"] == "one"
                ? Raw.response(
                    "429 Too Many Requests",
                    fields: ["Retry-After: 100"],
                    body: "slow down"
                )
                : Raw.ok(request["x-key"] ?? "none")
        }
    }

    private let keys = """
        identities:
          one: { header: { name: X-Key, value: literal:one } }
          two: { header: { name: X-Key, value: literal:two } }
        """

    @Test func `a rate-limited key is replaced by the next, and the log records it`() async throws {
        let server = try await limiting()
        try await DaemonHarness.run(channels: channels(server, "[one, two]"), root: keys) { proxy in
            #expect(try await body("/c0/1", proxy) == "two")
            #expect(try await body("/c0/1", proxy) == "two")
            let lines = try await proxy.log("c0").map(\.facts)
            #expect(lines.map(\.attempts) == [2, 1])
            #expect(lines.first?.retries == ["status_429"])
            #expect(lines.map(\.auth?.identity) == ["two", "two"])
        }
    }

    @Test func `why and status name the limited account`() async throws {
        let server = try await limiting()
        try await DaemonHarness.run(channels: channels(server, "[one, two]"), root: keys) { proxy in
            let first = try await body("/c0/1", proxy)
            #expect(first == "two")
            let why = try await proxy.ask(Raw.get("/why")).body
            #expect(why.contains("identity one"))
            #expect(why.contains("identity two"))
            let status = try #require(
                DaemonStatus(json: try await proxy.ask(Raw.get("/status")).body)
            )
            let rest = try #require(status.channels.first?.resting?["one"])
            #expect(rest > 90 && rest <= 100)
            #expect(status.lines.contains { $0.contains("one (left alone for 1 min") })
        }
    }

    @Test func `a lent key selects the identity`() async throws {
        let server = try await OriginServer.start { Raw.ok($0["x-key"] ?? "none") }
        try await DaemonHarness.run(
            channels: channels(server, "[one, two]", "[one]"),
            root: keys + "\nadmin: \"unix:DIRECTORY/admin.sock\""
        ) { proxy in
            let wire = try await proxy.admin(
                sending: Raw.request("POST", "/keys?as=two", fields: ["Netproxy-Admin: 1"])
            )
            try await wire.read(through: "\r\n\r\n")
            try await wire.read(through: "\r\n")
            let lease = try #require(ClientLease(json: try await wire.read(through: "}\n")))
            let field = "Proxy-Authorization: Bearer \(lease.key)"
            #expect(try await proxy.exchange(Raw.get("/c0/1", field)).body == "two")
            // A channel with only one account has no choice.
            #expect(try await proxy.exchange(Raw.get("/c1/1", field)).body == "one")
            #expect(try await body("/c0/1", proxy) == "one")
            // A key for a missing account is refused, not used for another.
            await proxy.reload(
                channels: channels(server, "[one]", "[two]"),
                root: keys + "\nadmin: \"unix:DIRECTORY/admin.sock\""
            )
            let gone = try await proxy.exchange(Raw.get("/c0/1", field))
            #expect(gone.status == 403)
            #expect(gone.body.contains("the key is for the identity two"))
            await proxy.reload(
                channels: channels(server, "[one, two]", "[one]"),
                root: keys + "\nadmin: \"unix:DIRECTORY/admin.sock\""
            )
            let bogus = try await proxy.exchange(Raw.get("/c0/1", "Proxy-Authorization: Bearer x"))
            #expect(bogus.status == 401)
            #expect(bogus.body.contains("is not valid (any more)"))
            let wrong = Raw.request("POST", "/keys?as=three", fields: ["Netproxy-Admin: 1"])
            let refusal = try await proxy.ask(wrong)
            #expect(refusal.status == 404)
            #expect(refusal.body.contains("no channel uses an identity three; they use one, two"))
        }
    }

    @Test func `a client cannot use an identity for other users`() async throws {
        let server = try await OriginServer.start { Raw.ok($0["x-key"] ?? "none") }
        let root = keys.replacing("literal:one }", with: "literal:one }, users: [4000000000]")
        try await DaemonHarness.run(
            channels: channels(server, "[one, two]", "[one]"),
            root: root
        ) { proxy in
            #expect(try await body("/c0/1", proxy) == "two")
            let refused = try await proxy.exchange(Raw.get("/c1/1"))
            #expect(refused.status == 403)
            #expect(refused.body.contains("no identity of the channel is for a client over TCP"))
        }
    }
}
