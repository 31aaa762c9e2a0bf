import FoundationEssentials
import TestSupport
import Testing

@Suite struct CredentialStory {
    private static let canary = "c4nary-S3cret"

    private func seen(
        auth: String,
        _ fields: String...
    ) async throws -> (status: Int, requests: [RawMessage], line: LogLine) {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let found = Found()
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  auth: \(auth)
                  log: { query: full, headers: [Authorization, X-Api-Key] }
                """
        ) { proxy in
            let request = Raw.request(
                "GET",
                "/orders/1?access_token=\(CredentialStory.canary)",
                fields: fields
            )
            found.status = try await proxy.exchange(request).status
            found.line = try await proxy.onlyLine("orders")
            found.logs = try await proxy.allLogs() + proxy.reports.joined()
        }
        #expect(!found.logs.contains(CredentialStory.canary))
        return (found.status, origin.requests, try #require(found.line))
    }

    private final class Found {
        var status = 0
        var line: LogLine?
        var logs = ""
    }

    @Test(arguments: ["x-api-key: KEY", "X_Api_Key: KEY", "X-Goog-Api-Key: Bearer KEY"])
    func `a client's key is not forwarded, regardless of its field`(
        field: String
    ) async throws {
        let seen = try await seen(
            auth: "{ bearer: literal:token }\n  access: { key: 'literal:\(Self.canary)' }",
            field.replacing("KEY", with: Self.canary),
            "Proxy-Authorization: Bearer \(Self.canary)"
        )
        #expect(seen.status == 200)
        let name = try #require(field.split(separator: ":").first)
        #expect(seen.requests.first?["\(name)"] == nil)
        #expect(seen.requests.first?["Authorization"] == "Bearer token")
    }

    /// The fields of client libraries that know only a base URL and an API key.
    @Test(
        arguments: [
            ("{ bearer: literal:token }", "Authorization: Bearer \(canary)"),
            (
                "{ bearer: literal:token, on_client_credential: keep }",
                "Authorization: Bearer \(canary)"
            ),
            (
                "{ bearer: literal:token, on_client_credential: reject }",
                "Authorization: Bearer \(canary)"
            ),
            ("{ header: { name: X-Own, value: literal:token } }", "X-Own: \(canary)"),
            (
                "{ header: { name: X-Own, value: literal:token } }",
                "Authorization: Bearer \(canary)"
            ),
            ("off", "Authorization: Basic dTpjNG5hcnktUzNjcmV0"),
        ]
    )
    func `a key in the field of an API key is not forwarded`(
        auth: String,
        field: String
    ) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  auth: \(auth)
                  access: { key: 'literal:\(Self.canary)' }
                  log: { headers: [Authorization, X-Own] }
                """
        ) { proxy in
            #expect(try await proxy.exchange(Raw.get("/orders/1", field)).status == 200)
            let seen = try #require(origin.requests.first)
            #expect(seen["X-Own"] == (auth.contains("X-Own") ? "token" : nil))
            #expect(seen["Authorization"] == (auth.contains("bearer") ? "Bearer token" : nil))
            // The key is not a credential for the API, so nothing was overridden.
            let line = try await proxy.onlyLine("orders")
            #expect(line.facts.auth?.overrodeClient == nil)
            let logs = try await proxy.allLogs() + proxy.reports.joined()
            #expect(!logs.contains(Self.canary) && !logs.contains("dTpjNG5hcnktUzNjcmV0"))
        }
    }

    @Test func `a secret besides the credential is sent upstream and never shown`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  auth: { bearer: literal:token }
                  headers: { secret: { X-Subscription-Key: 'literal:\(Self.canary)' } }
                  log: { headers: [X-Subscription-Key] }
                """
        ) { proxy in
            let own = ["X-Subscription-Key: own", "X_Subscription_Key: own"]
            let request = Raw.request("GET", "/orders/1", fields: own)
            #expect(try await proxy.exchange(request).status == 200)
            let seen = try #require(origin.requests.first)
            #expect(seen["X-Subscription-Key"] == Self.canary)
            #expect(seen["X_Subscription_Key"] == nil)
            #expect(seen["Authorization"] == "Bearer token")
            // A client can neither remove it nor see it.
            let nominated = Raw.get("/orders/1", "Connection: X-Subscription-Key")
            #expect(try await proxy.exchange(nominated).status == 200)
            #expect(origin.requests.last?["X-Subscription-Key"] == Self.canary)
            let trace = Raw.request(
                "TRACE",
                "/orders/1",
                fields: ["Max-Forwards: 0", "X-Subscription-Key: own"]
            )
            #expect(try await proxy.exchange(trace).body.contains("own") == false)
            let told = try await proxy.allLogs() + proxy.reports.joined()
            #expect(!told.contains(Self.canary))
        }
    }

    @Test func `a secret that is unfit for a field is not shown in the refusal`() async throws {
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:9
                  headers: { secret: { X-Key: 'literal:\(Self.canary) ' } }
                """
        ) { proxy in
            let refused = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(refused.status == 503)
            #expect(refused.body.contains("headers.secret.X-Key: "))
            let told = try await refused.body + proxy.allLogs() + proxy.reports.joined()
            #expect(!told.contains(Self.canary))
        }
    }

    @Test func `a bearer token is added`() async throws {
        let (_, requests, line) = try await seen(auth: "{ bearer: 'literal:\(Self.canary)' }")
        #expect(requests.first?["Authorization"] == "Bearer \(Self.canary)")
        #expect(line.facts.auth?.kind == "bearer")
    }

    @Test func `a password is added`() async throws {
        let (_, requests, line) = try await seen(
            auth: "{ basic: { username: aladdin, password: 'literal:opensesame' } }"
        )
        #expect(requests.first?["Authorization"] == "Basic YWxhZGRpbjpvcGVuc2VzYW1l")
        #expect(line.facts.auth?.kind == "basic")
    }

    @Test func `a custom field is added`() async throws {
        let (_, requests, _) = try await seen(
            auth: "{ header: { name: X-Api-Key, value: 'literal:\(Self.canary)' } }"
        )
        #expect(requests.first?["X-Api-Key"] == Self.canary)
    }

    @Test func `a client sends the token endpoint all configured parameters`() async throws {
        let origin = try await OriginServer.start { request in
            guard request.startLine.hasPrefix("POST /token ") else { return Raw.ok() }
            return Raw.ok(
                #"{"access_token":"a","token_type":"Bearer","expires_in":3600}"#,
                "Content-Type: application/json"
            )
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  auth:
                    oauth:
                      token_url: http://127.0.0.1:\(origin.port)/token
                      client_id: app
                      client_secret: 'literal:opensesame'
                      scopes: [read, write]
                      audience: api
                      parameters: { tenant: t 1 }
                """
        ) { proxy in
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            let form = try #require(origin.requests.first)
            #expect(form["Authorization"] == "Basic YXBwOm9wZW5zZXNhbWU=")
            #expect(
                Set(form.body.split(separator: "&")) == [
                    "grant_type=client_credentials", "scope=read+write", "audience=api",
                    "tenant=t+1",
                ]
            )
            let state = try FileManager.default.attributesOfItem(atPath: "\(proxy.directory)/state")
            #expect(state[.posixPermissions].flatMap { Int("\($0)") } == 0o700)
        }
    }

    @Test func `a client cannot bypass the channel's header rules with another spelling`()
        async throws
    {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  headers: { set: { X-Tenant: ours }, remove: [X-Debug-Level] }
                  auth: { header: { name: X-Api-Key, value: 'literal:ours' } }
                """
        ) { proxy in
            let names = [
                "X_Api_Key", "x-api_KEY", "X_Tenant", "X_Debug-Level", "X_Other", "XTenant",
            ]
            let lines = names.map { "\($0): app\r\n" }.joined()
            let answer = try await proxy.exchange(
                "GET /orders/1 HTTP/1.1\r\nHost: localhost\r\n\(lines)\r\n"
            )
            #expect(answer.status == 200)
            let arrived = try #require(origin.requests.first).fields
                .filter { $0.name.lowercased().hasPrefix("x") && $0.name != "X-Request-Id" }
            #expect(
                arrived.map { "\($0.name): \($0.value)" }.sorted()
                    == ["X-Api-Key: ours", "X-Tenant: ours", "XTenant: app", "X_Other: app"]
            )
        }
    }

    @Test func `a client cannot remove the credential by naming it in Connection`() async throws {
        let (_, requests, _) = try await seen(
            auth: "{ header: { name: X-Api-Key, value: 'literal:\(Self.canary)' } }",
            "Connection: X-Api-Key, Authorization"
        )
        #expect(requests.first?["X-Api-Key"] == Self.canary)
    }

    @Test func `the client's own credential is replaced, and the log records it`() async throws {
        let (_, requests, line) = try await seen(
            auth: "{ bearer: 'literal:ours' }",
            "Authorization: Bearer \(Self.canary)"
        )
        #expect(requests.first?["Authorization"] == "Bearer ours")
        #expect(line.facts.auth?.overrodeClient == true)
    }

    @Test func `the client's own credential is kept if the channel says so`() async throws {
        let (_, requests, _) = try await seen(
            auth: "{ bearer: 'literal:ours', on_client_credential: keep }",
            "Authorization: Bearer \(Self.canary)"
        )
        #expect(requests.first?["Authorization"] == "Bearer \(Self.canary)")
    }

    @Test func `the client's own credential is refused if the channel says so`() async throws {
        let (status, requests, line) = try await seen(
            auth: "{ bearer: 'literal:ours', on_client_credential: reject }",
            "Authorization: Bearer \(Self.canary)"
        )
        #expect(status == 403)
        #expect(requests.isEmpty)
        #expect(line.facts.error == "http_request_denied")
    }

    @Test func `two channels with the same refresh token are reported`() async throws {
        func channel(_ seed: String) -> String {
            """
            { upstream: 'http://127.0.0.1:9', auth: { oauth: { grant: refresh_token, client_id: a,
              token_url: 'http://127.0.0.1:9/t', client_auth: none, refresh_token: 'literal:\(seed)' } } }
            """
        }
        let canary = CredentialStory.canary
        try await DaemonHarness.run(
            channels: """
                orders: \(channel("other"))
                mail: \(channel(canary))
                calendar: \(channel(canary))
                """
        ) { proxy in
            let told = proxy.reports.filter { $0.contains("refresh_token") }
            #expect(told.count == 1)
            #expect(told.first?.hasPrefix("channel calendar and channel mail: ") == true)
            #expect(!proxy.reports.joined().contains(canary))
            // The first reload adds a channel before the existing ones; the second adds none.
            for _ in 1...2 {
                await proxy.reload(
                    channels: """
                        bills: \(channel("other"))
                        orders: \(channel("other"))
                        mail: \(channel(canary))
                        calendar: \(channel(canary))
                        """
                )
            }
            let later = proxy.reports.filter { $0.contains("refresh_token") }.dropFirst()
            #expect(later.count == 1)
            #expect(later.first?.hasPrefix("channel bills and channel orders: ") == true)
        }
    }
}
