import Foundation
import Synchronization
import TestSupport
import Testing

/// The error formats of authorization servers and APIs, through the whole daemon.
@Suite struct ProviderStory {
    private let json = "Content-Type: application/json"

    private func channel(
        _ api: OriginServer,
        _ tokens: OriginServer,
        _ oauth: String,
        _ more: String = ""
    )
        -> String
    {
        """
        orders:
          upstream: http://127.0.0.1:\(api.port)
          \(more)
          auth:
            oauth:
              token_url: http://127.0.0.1:\(tokens.port)/token
              client_id: orders
              \(oauth)
        """
    }

    /// Starts an API that accepts one token.
    private func api(
        accepting token: String,
        refusing answer: String = Raw.response("401 Unauthorized")
    ) async throws -> OriginServer {
        try await OriginServer.start { request in
            request["Authorization"] == "Bearer \(token)" ? Raw.ok("in") : answer
        }
    }

    private func issuer() async throws -> OriginServer {
        let counter = Counter()
        return try await OriginServer.start { [json] _ in
            Raw.ok(#"{"access_token":"token-\#(counter.next())","expires_in":"3600"}"#, json)
        }
    }

    @Test(arguments: [
        "", "WWW-Authenticate: Basic realm=\"api\"", "WWW-Authenticate: ",
        "WWW-Authenticate: Bearer authorization_uri=https://login.example.com/1",
        "WWW-Authenticate: Token", "WWW-Authenticate: ApiKey, NTLM",
    ])
    func `a 401 renews the token regardless of its challenge`(field: String) async throws {
        let tokens = try await issuer()
        let refusal = Raw.response("401 Unauthorized", fields: field.isEmpty ? [] : [field])
        let api = try await api(accepting: "token-2", refusing: refusal)
        let channel = channel(api, tokens, "client_secret: literal:x")
        try await DaemonHarness.run(channels: channel) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 200)
            #expect(tokens.requests.count == 2)
        }
    }

    @Test func `an API that refuses every token with another scheme causes no storm`()
        async throws
    {
        let tokens = try await issuer()
        let api = try await api(accepting: "never")
        let channel = channel(api, tokens, "client_secret: literal:x")
        try await DaemonHarness.run(channels: channel) { proxy in
            for _ in 0..<30 {
                let answer = try await proxy.exchange(Raw.get("/orders/1"))
                #expect(answer.status == 401)
            }
            #expect(tokens.requests.count == 2)
        }
    }

    @Test func `an expired token refused with another status is renewed`() async throws {
        let tokens = try await issuer()
        let refusal = Raw.response(
            "403 Forbidden",
            fields: [json],
            body: #"{"error":"token_expired"}"#
        )
        let api = try await api(accepting: "token-2", refusing: refusal)
        let retry = "retry: { unauthorized: { status: [403], body: token_expired } }"
        let channel = channel(api, tokens, "client_secret: literal:x", retry)
        try await DaemonHarness.run(channels: channel) { proxy in
            let answer = try await proxy.exchange(Raw.post("/orders/1", body: "precious"))
            #expect(answer.status == 200)
            #expect(api.requests.map(\.body) == ["precious", "precious"])
        }
    }

    @Test func `a 403 for another reason is returned to the client and renews nothing`()
        async throws
    {
        let tokens = try await issuer()
        let refusal = Raw.response("403 Forbidden", fields: [json], body: #"{"error":"no"}"#)
        let api = try await api(accepting: "token-2", refusing: refusal)
        let retry = "retry: { unauthorized: { status: [403], body: token_expired } }"
        let channel = channel(api, tokens, "client_secret: literal:x", retry)
        try await DaemonHarness.run(channels: channel) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 403)
            #expect(answer.body == #"{"error":"no"}"#)
            #expect(tokens.requests.count == 1)
        }
    }

    @Test func `the provider's error text is shown to the client, the log and the operator`()
        async throws
    {
        let words = "Your app was disabled by its owner. Trace 5ff6bd71-8b0a-4a6e-8f0b-1a2b3c4d5e00"
        let tokens = try await OriginServer.start { [json] _ in
            Raw.response(
                "400 Bad Request",
                fields: [json],
                body: #"{"status":"APP_DISABLED","message":"\#(words)"}"#
            )
        }
        let api = try await api(accepting: "never")
        let channel = channel(api, tokens, "client_secret: literal:x")
        try await DaemonHarness.run(channels: channel) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 503)
            #expect(answer.body.contains("APP_DISABLED: \(words)"))
            #expect(try await proxy.allLogs().contains(words))
            #expect(proxy.reports.contains { $0.contains(words) })
        }
    }

    @Test func `requests without User-Agent get netproxy's User-Agent`() async throws {
        let tokens = try await issuer()
        let api = try await api(accepting: "token-1")
        let channel = channel(api, tokens, "client_secret: literal:x")
        try await DaemonHarness.run(channels: channel) { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/1"))
            _ = try await proxy.exchange(Raw.get("/orders/1", "User-Agent: mine/2"))
            #expect(tokens.requests.map { $0["User-Agent"] } == ["netproxy/0.1.0"])
            #expect(api.requests.map { $0["User-Agent"] } == ["netproxy/0.1.0", "mine/2"])
        }
    }

    @Test(arguments: [
        ("headers: { default: { User-Agent: orders/1 } }", "orders/1"),
        ("headers: { set: { user-agent: orders/2 } }", "orders/2"),
        ("headers: { remove: [User-Agent] }", nil),
    ])
    func `a header rule for User-Agent takes precedence`(rule: String, expected: String?)
        async throws
    {
        let api = try await OriginServer.start { _ in Raw.ok("in") }
        let channel = """
            orders:
              upstream: http://127.0.0.1:\(api.port)
              \(rule)
            """
        try await DaemonHarness.run(channels: channel) { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(api.requests.map { $0["User-Agent"] } == [expected])
        }
    }

    @Test func `a provider's own grant is sent with its parameters and fields`()
        async throws
    {
        let tokens = try await issuer()
        let api = try await api(accepting: "token-1")
        let oauth = """
            client_secret: literal:c4nary-S3cret
                  grant: extension
                  grant_type: account_credentials
                  parameters: { account_id: acc, pin: "literal:c4nary-pin" }
                  token_headers: { X-Api-Key: "literal:c4nary-key", User-Agent: my-app/1 }
            """
        try await DaemonHarness.run(channels: channel(api, tokens, oauth)) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 200)
            let request = try #require(tokens.requests.first)
            #expect(request.body.contains("grant_type=account_credentials"))
            #expect(request.body.contains("account_id=acc"))
            #expect(request.body.contains("pin=c4nary-pin"))
            #expect(request["X-Api-Key"] == "c4nary-key")
            #expect(request["User-Agent"] == "my-app/1")
            #expect(try await !proxy.allLogs().contains("c4nary"))
        }
    }

    @Test
    func `a replaced secret file is read when the server refuses the old secret`()
        async throws
    {
        let directory = try TokenDirectory()
        try directory.write("old-secret\n", to: "secret")
        let counter = Counter()
        let tokens = try await OriginServer.start { [json] request in
            guard request.body.contains("client_secret=new-secret") else {
                return Raw.response(
                    "401 Unauthorized",
                    fields: [json],
                    body: #"{"error":"invalid_client"}"#
                )
            }
            return Raw.ok(#"{"access_token":"token-\#(counter.next())"}"#, json)
        }
        let api = try await api(accepting: "token-1")
        let oauth = """
            client_auth: post
                  client_secret: file:\(directory.path)/secret
            """
        try await DaemonHarness.run(channels: channel(api, tokens, oauth)) { proxy in
            try directory.write("new-secret\n", to: "secret")
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 200)
            #expect(tokens.requests.count == 2)
            #expect(proxy.reports.contains { $0.contains("rejected auth.oauth.client_secret") })
            #expect(!proxy.reports.joined().contains("new-secret"))
        }
    }

    @Test func `a replaced key file is read when the server refuses the old key`()
        async throws
    {
        func pem(_ last: Character) -> String {
            """
            -----BEGIN PRIVATE KEY-----
            MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9\(last)
            -----END PRIVATE KEY-----

            """
        }
        let directory = try TokenDirectory()
        try directory.write(pem("g"), to: "key.pem")
        let counter = Counter()
        let tokens = try await OriginServer.start { [json] _ in
            let number = counter.next()
            return number == 1 || number == 3
                ? Raw.response(
                    "401 Unauthorized",
                    fields: [json],
                    body: #"{"error":"invalid_client"}"#
                ) : Raw.ok(#"{"access_token":"token"}"#, json)
        }
        let api = try await api(accepting: "token")
        let oauth = """
            client_auth: private_key_jwt
                  client_key: { key: 'file:\(directory.path)/key.pem', audience: them }
            """
        try await DaemonHarness.run(channels: channel(api, tokens, oauth)) { proxy in
            try directory.write(pem("k"), to: "key.pem")
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            #expect(tokens.requests.count == 2)
            #expect(proxy.reports.contains { $0.contains("rejected auth.oauth.client_key.key") })
            #expect(!proxy.reports.joined().contains("BEGIN"))
        }
    }

    @Test func `a replaced certificate is used when the server refuses the old one`()
        async throws
    {
        let certificates = try (1...2).map { _ in try SelfSignedCertificate(names: nil) }
        let pems = try certificates.map { try String(contentsOfFile: $0.file, encoding: .utf8) }
        let directory = try TokenDirectory()
        try directory.write(pems[0], to: "client.pem")
        let counter = Counter()
        let tokens = try await OriginServer.start { [json] _ in
            counter.next() == 2
                ? Raw.ok(#"{"access_token":"token"}"#, json)
                : Raw.response(
                    "401 Unauthorized",
                    fields: [json],
                    body: #"{"error":"invalid_client"}"#
                )
        }
        let api = try await api(accepting: "token")
        let file = "\(directory.path)/client.pem"
        let tls = "tls: { client_certificate: '\(file)', client_key: '\(file)' }"
        let channel = channel(api, tokens, "client_auth: tls", tls)
        try await DaemonHarness.run(channels: channel) { proxy in
            try directory.write(pems[1], to: "client.pem")
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            #expect(tokens.requests.count == 2)
            // It needs a new connection, because the old one used the old certificate.
            #expect(tokens.connections.count == 2)
            #expect(proxy.reports.contains { $0.contains("using the new certificate from") })
            #expect(!proxy.reports.joined().contains("PRIVATE"))
        }
    }

    @Test func `an unknown token type is reported once`() async throws {
        let counter = Counter()
        let tokens = try await OriginServer.start { [json] _ in
            Raw.ok(#"{"access_token":"token-\#(counter.next())","token_type":"BearerToken"}"#, json)
        }
        let api = try await api(accepting: "token-2")
        let channel = channel(api, tokens, "client_secret: literal:x")
        try await DaemonHarness.run(channels: channel) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 200)
            let told = try await proxy.allLogs().split(separator: "\n").filter {
                $0.contains(#""token_type":"BearerToken""#)
            }
            #expect(told.count == 1)
        }
    }
}
