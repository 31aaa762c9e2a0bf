import TestSupport
import Testing

/// A credential in the query, in the path, or under another name, from end to end.
@Suite struct CredentialPlaceStory {
    private static let secret = "c4nary-S3cret"

    private struct Seen {
        var answer: RawMessage
        var request: RawMessage?
        var target: String { String(request?.startLine.split(separator: " ")[1] ?? "") }
        var told: String
    }

    /// Sends a request to a channel `api`, whose upstream returns the target in fields.
    private func seen(
        _ auth: String,
        base: String = "/v1",
        more: String = "",
        _ request: String
    ) async throws -> Seen {
        let origin = try await OriginServer.start { request in
            let target = request.startLine.split(separator: " ")[1]
            let host = request["Host"] ?? ""
            return Raw.ok(
                "hello",
                "Location: http://\(host)\(target)",
                "Link: <\(target)>; rel=self",
                "Proxy-Status: other; details=\"\(target)\""
            )
        }
        var seen: Seen?
        try await DaemonHarness.run(
            channels: """
                api:
                  upstream: 'http://127.0.0.1:\(origin.port)\(base)'
                  auth: { bearer: 'literal:\(Self.secret)', \(auth) }
                  log: { query: full, headers: [Location, Link, Proxy-Status, X-Api-Key] }
                  \(more)
                """
        ) { proxy in
            let named = "Host: localhost\r\nX-Request-Id: seen-1"
            let answer = try await proxy.exchange(request.replacing("Host: localhost", with: named))
            let why = try await proxy.ask(Raw.get("/why/seen-1")).body
            let status = try await proxy.ask(Raw.get("/status")).body
            let page = try await proxy.ask(Raw.get("/")).body
            let logs = try await proxy.allLogs()
            let told = [why, status, page, logs, proxy.reports.joined()].joined()
            seen = Seen(answer: answer, request: origin.requests.first, told: told)
        }
        let found = try #require(seen)
        let shown =
            found.told + found.answer.startLine + found.answer.body
            + found.answer.fields.map(\.value).joined()
        #expect(!shown.contains(Self.secret))
        #expect(!shown.contains("m1ne-own"))
        return found
    }

    @Test func `a credential in the query is sent but not shown`() async throws {
        let seen = try await seen(
            "in: query, name: api_key",
            Raw.get("/api/a?x=1&API%5Fkey=m1ne-own")
        )
        #expect(seen.target == "/v1/a?x=1&api_key=\(Self.secret)")
        #expect(seen.request?["Authorization"] == nil)
        // If the client follows the link through netproxy, the credential is added again.
        #expect(seen.answer["Location"]?.hasSuffix("/v1/a?x=1") == true)
        #expect(seen.answer["Link"] == "</v1/a?x=1>; rel=self")
        #expect(seen.told.contains(#""overrode_client":true"#))
    }

    @Test(arguments: [
        ("/api/getMe", "/getMe"), ("/api", ""), ("/api/botm1ne-own/getMe?x", "/getMe?x"),
        ("/api/bot%7Bcredential%7D/a", "/a"),
    ])
    func `a credential in the path is sent but not shown`(path: String, rest: String) async throws {
        let seen = try await seen("in: path", base: "/bot{credential}", Raw.get(path))
        #expect(seen.target == "/bot\(Self.secret)\(rest)")
        #expect(seen.answer["Location"]?.hasSuffix("/bot%7Bcredential%7D\(rest)") == true)
        #expect(seen.told.contains(#""path":"/bot{credential}"#))
        #expect(seen.told.contains(#""overrode_client":true"#) == path.contains("m1ne"))
    }

    @Test func `with rewrite, a link contains the path that the client used`() async throws {
        let seen = try await seen(
            "in: path",
            base: "/bot{credential}",
            more: "rewrite: true",
            Raw.get("/api/getMe")
        )
        #expect(seen.answer["Location"] == "http://localhost/api/getMe")
        #expect(seen.answer["Link"] == "</api/getMe>; rel=self")
    }

    @Test(arguments: [
        ("in: query, name: key", "/v1", "/api/a?key=m1ne-own"),
        ("in: path", "/bot{credential}", "/api/botm1ne-own/a"),
    ])
    func `the client's own credential is kept or refused as configured`(
        auth: String,
        base: String,
        path: String
    ) async throws {
        let kept = try await seen(
            "\(auth), on_client_credential: keep",
            base: base,
            Raw.get(path.replacing("m1ne-own", with: "kept-own"))
        )
        #expect(kept.target.contains("kept-own"))
        #expect(!kept.target.contains(Self.secret))
        let refused = try await seen(
            "\(auth), on_client_credential: reject",
            base: base,
            Raw.get(path)
        )
        #expect(refused.answer.status == 403)
        #expect(refused.request == nil)
    }

    @Test func `look-alikes of the credential's field are treated as the field`() async throws {
        let auth = "name: X-Api-Key, prefix: ''"
        let fields = ["X_Api_Key: m1ne-own", "x-api_key: m1ne-own"]
        let replaced = try await seen(auth, Raw.request("GET", "/api/a", fields: fields))
        #expect(replaced.request?.fields.filter { $0.name.lowercased().contains("key") }.count == 1)
        #expect(replaced.request?["X-Api-Key"] == Self.secret)
        for field in fields {
            let refused = try await seen(
                "\(auth), on_client_credential: reject",
                Raw.get("/api/a", field)
            )
            #expect(refused.answer.status == 403, "\(field)")
        }
    }

    @Test(arguments: [
        ("in: query, name: key", "/v1", "/api/a?x=1&key=sesame", "/v1/a?x=1&key="),
        ("in: path", "/bot{credential}", "/api/botsesame/a", "/bot"),
    ])
    func `a key for netproxy is accepted in the credential's place`(
        auth: String,
        base: String,
        path: String,
        start: String
    ) async throws {
        let access = "access: { key: 'literal:sesame' }"
        let seen = try await seen(
            "\(auth), on_client_credential: reject",
            base: base,
            more: access,
            Raw.get(path)
        )
        #expect(seen.answer.status == 200)
        #expect(seen.target.hasPrefix(start + Self.secret))
        #expect(!seen.told.contains("sesame"))
        let wrong = path.replacing("sesame", with: "m1ne-own")
        let refused = try await self.seen(auth, base: base, more: access, Raw.get(wrong))
        #expect(refused.answer.status == 401)
        #expect(refused.answer["WWW-Authenticate"] == "Basic realm=\"netproxy\"")
    }

    @Test func `a key for netproxy is accepted with the channel's prefix`() async throws {
        let seen = try await seen(
            "prefix: 'Token '",
            more: "access: { key: 'literal:sesame' }",
            Raw.get("/api/a", "Authorization: Token sesame")
        )
        #expect(seen.answer.status == 200)
        #expect(seen.request?["Authorization"] == "Token \(Self.secret)")
    }

    @Test func `failover puts the credential in the other upstream's place`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: """
                api:
                  upstream:
                    - 'http://127.0.0.1:\(RefusingPort.any())/a{credential}'
                    - 'http://127.0.0.1:\(origin.port)/b/{credential}/c'
                  auth: { bearer: 'literal:\(Self.secret)', in: path }
                """
        ) { proxy in
            #expect(try await proxy.exchange(Raw.get("/api/x?y=1")).status == 200)
            let line = try await proxy.onlyLine("api")
            #expect(line.text.contains(#""path":"/b/{credential}/c/x""#))
            #expect(!line.text.contains(Self.secret))
        }
        let target = "/b/\(Self.secret)/c/x?y=1"
        #expect(origin.requests.map(\.startLine) == ["GET \(target) HTTP/1.1"])
    }

    @Test func `a client that uses netproxy as a proxy can send the credential's place`()
        async throws
    {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: """
                api:
                  upstream: 'http://127.0.0.1:\(origin.port)/bot{credential}'
                  auth: { bearer: 'literal:\(Self.secret)', in: path }
                """
        ) { proxy in
            for path in ["/botm1ne-own/a", "/bot%7Bcredential%7D/a"] {
                let target = "http://127.0.0.1:\(origin.port)\(path)"
                let request = Raw.get(target).replacing(
                    "Host: localhost",
                    with: "Host: 127.0.0.1:\(origin.port)"
                )
                let answer = try await proxy.exchange(request)
                #expect(answer.status == 200)
            }
            let logs = try await proxy.allLogs()
            #expect(!logs.contains("m1ne-own"))
        }
        let line = "GET /bot\(Self.secret)/a HTTP/1.1"
        #expect(origin.requests.map(\.startLine) == [line, line])
    }

    @Test func `a stub does not repeat the credential`() async throws {
        let seen = try await seen(
            "in: path",
            base: "/bot{credential}",
            more: "stub: [{ path: /a, body: a }]",
            Raw.get("/api/b")
        )
        #expect(seen.answer.status == 404)
        #expect(seen.answer.body.contains("no answer for GET /b."))
    }
}
