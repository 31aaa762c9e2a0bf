import NetworkCore
import OAuth
import TestSupport
import Testing

/// Requests for the metadata of a resource.
@Suite struct ResourceProbeTests {
    private let server = ScriptedServer()
    private let upstream: ServerEndpoint = "https://mcp.example.com/mcp"
    private let inserted = "/.well-known/oauth-protected-resource/mcp"
    private let root = "/.well-known/oauth-protected-resource"

    private let document = ScriptedServer.Answer.json(
        200,
        #"""
        {"resource":"https://mcp.example.com/mcp","authorization_servers":["https://a.example.com"],
         "scopes_supported":["all"]}
        """#
    )

    private func find(_ upstream: ServerEndpoint? = nil) async throws -> ResourceProbe.Finding {
        try await ResourceProbe(over: server, clock: ManualClock())
            .find(upstream ?? self.upstream)
    }

    private func failure(_ upstream: ServerEndpoint? = nil) async -> String {
        do {
            _ = try await find(upstream)
            return ""
        } catch {
            return "\(error)"
        }
    }

    private func requests() -> [String] { server.seen.map { "\($0.method) \($0.url)" } }

    @Test func `the challenge says where the metadata is, and which scopes are needed`()
        async throws
    {
        server.script(
            "/mcp",
            .challenge(
                401,
                [
                    "Basic realm=\"x\"",
                    #"Bearer resource_metadata="https://mcp.example.com/meta", scope="read write""#,
                ]
            )
        )
        server.script("/meta", document)
        let found = try await find()
        #expect(found.resource.issuers.first == "https://a.example.com")
        #expect(found.challengedScopes == ["read", "write"])
        #expect(
            requests() == ["GET https://mcp.example.com/mcp", "GET https://mcp.example.com/meta"]
        )
        #expect(server.seen.allSatisfy { !$0.headers.contains(HTTPFieldName.authorization) })
    }

    @Test func `a 401 that says nothing leads to the well-known places`() async throws {
        server.script("/mcp", .challenge(401, []))
        server.script(root, document)
        #expect(try await find().resource.scopes == ["all"])
        #expect(
            requests() == [
                "GET https://mcp.example.com/mcp", "GET https://mcp.example.com\(inserted)",
                "GET https://mcp.example.com\(root)",
            ]
        )
    }

    @Test(arguments: [HTTPStatus(405), 404, 400, 200])
    func `a server that refuses GET gets a POST`(_ status: HTTPStatus) async throws {
        server.script(
            "/mcp",
            .challenge(status, []),
            .challenge(401, [#"Bearer resource_metadata="https://mcp.example.com/meta""#])
        )
        server.script("/meta", document)
        _ = try await find()
        #expect(server.seen.map(\.method) == [.get, .post, .get])
        #expect(server.seen[1].body.contains(#""method":"initialize""#))
        #expect(server.seen[1].headers[.contentType] == "application/json")
    }

    @Test func `metadata counts even if the upstream requires no token`() async throws {
        server.script("/mcp", .json(200, "{}"))
        server.script(inserted, document)
        #expect(try await find().resource.identifier == "https://mcp.example.com/mcp")
    }

    @Test(arguments: [
        "https://evil.example/meta", "http://mcp.example.com/meta",
        "https://mcp.example.com:444/meta",
        "https://mcp.example.com@evil.example/meta", "//mcp.example.com/meta", "",
    ])
    func `metadata of another origin is not fetched`(_ place: String) async {
        server.script("/mcp", .challenge(401, [#"Bearer resource_metadata="\#(place)""#]))
        let words = await failure()
        #expect(words.contains("names '\(place)' as the place of its metadata"))
        #expect(server.seen.count == 1)
    }

    @Test func `a long URL on another origin is shown`() async {
        let place = "https://mcp.example.com:8443/.well-known/oauth-protected-resource/mcp/v1/x"
        server.script("/mcp", .challenge(401, [#"Bearer resource_metadata="\#(place)""#]))
        #expect(await failure().contains("names '\(place)' as the place"))
    }

    @Test func `metadata one redirect away on the same origin is read`() async throws {
        server.script("/mcp", .challenge(401, []))
        server.script(inserted, .redirect(301, "\(inserted)/"))
        server.script("\(inserted)/", document)
        #expect(try await find().resource.issuers.first == "https://a.example.com")
    }

    @Test func `metadata on another origin is not read, and a redirect to it is shown`() async {
        server.script("/mcp", .json(200, "{}"))
        server.script(inserted, .redirect(302, "https://evil.example/meta"))
        #expect(await failure().contains("a redirect to 'https://evil.example/meta'"))
        #expect(server.seen.allSatisfy { $0.url.hasPrefix("https://mcp.example.com/") })
    }

    @Test func `compressed metadata is read`() async throws {
        server.script("/mcp", .challenge(401, []))
        guard case .json(_, let text) = document else { return }
        server.script(inserted, .coded(200, StoredCoding.gzip(text), "gzip"))
        #expect(try await find().resource.scopes == ["all"])
    }

    // MARK: - MCP 2025-03-26

    @Test(arguments: [nil, "<!doctype html>"])
    func `the authorization server of a resource without metadata is its own origin`(
        page: String?
    ) async throws {
        server.script("/mcp", .challenge(401, [#"Bearer scope="read""#]))
        if let page { server.script(inserted, .json(200, page)) }
        let found = try await find()
        #expect(found.resource.issuers == ["https://mcp.example.com"])
        #expect(found.resource.evidence == .origin)
        #expect(found.challengedScopes == ["read"])
    }

    @Test func `a 401 that names metadata needs that metadata`() async {
        server.script(
            "/mcp",
            .challenge(401, [#"Bearer resource_metadata="https://mcp.example.com/meta""#])
        )
        #expect(await failure().contains("has no metadata of a protected resource (RFC 9728)"))
    }

    @Test func `the metadata of another resource is an error`() async {
        server.script("/mcp", .challenge(401, []))
        server.script(
            inserted,
            .json(
                200,
                #"{"resource":"https://mcp.example.com/other","authorization_servers":["https://a"]}"#
            )
        )
        #expect(await failure().contains("is about the resource"))
    }

    @Test func `a page instead of a document is skipped`() async throws {
        server.script("/mcp", .challenge(401, []))
        server.script(inserted, .json(200, "<!doctype html>"))
        server.script(root, document)
        #expect(try await find().resource.issuers.first == "https://a.example.com")
    }

    @Test func `a document that is too long is refused`() async {
        server.script("/mcp", .challenge(401, []))
        server.script(inserted, .json(200, String(repeating: " ", count: 256 * 1024 + 1)))
        #expect(await failure().contains("cannot be read"))
    }

    @Test func `the error for missing metadata names the places`() async {
        server.script("/mcp", .json(200, "{}"))
        let words = await failure()
        #expect(words.contains("https://mcp.example.com/mcp answered 200"))
        #expect(words.contains("\(inserted) or \(root)"))
        #expect(words.contains("set auth.oauth.issuer and client_id instead of discover"))
    }

    @Test func `an upstream without TLS gets no request`() async {
        #expect(await failure("http://mcp.example.com/mcp").contains("is not https"))
        #expect(server.seen.isEmpty)
    }

    @Test func `a server that is down is distinguished`() async {
        server.script("/mcp", .unreachable)
        #expect(await failure().contains("https://mcp.example.com/mcp cannot be read"))
        server.script("/mcp", .challenge(401, []))
        server.script(inserted, .json(503, ""))
        #expect(await failure().contains("answered 503"))
    }
}
