import TestSupport
import Testing

/// The methods and paths that a channel allows.
@Suite struct AccessScopeStory {
    private func run(
        _ access: String,
        base: String = "",
        _ story: (DaemonHarness) async throws -> Void
    ) async throws {
        let origin = try await OriginServer.start { wire in
            while try await wire.next() != nil { try await wire.send(Raw.ok("")) }
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)\(base)
                  access: { \(access) }
                """,
            story
        )
    }

    private func status(
        _ method: String,
        _ path: String,
        with field: String? = nil,
        of proxy: DaemonHarness
    ) async throws -> Int {
        try await proxy.exchange(Raw.request(method, path, fields: field.map { [$0] } ?? [])).status
    }

    @Test func `a method that is not listed is refused`() async throws {
        try await run("methods: [GET, POST]") { proxy in
            for method in ["GET", "POST"] {
                let answer = try await status(method, "/orders/1", of: proxy)
                #expect(answer == 200)
            }
            for method in ["DELETE", "PUT", "OPTIONS", "get", "PROPFIND"] {
                let answer = try await status(method, "/orders/1", of: proxy)
                #expect(answer == 403, "\(method)")
            }
            let refusal = try await proxy.exchange(Raw.request("DELETE", "/orders/1"))
            #expect(refusal.body.contains("DELETE is not allowed; access.methods allows GET, POST"))
            let last = try #require(try await proxy.log("orders").last)
            #expect(last.text.contains(#""error":"http_request_denied""#))
        }
    }

    @Test func `GET allows HEAD, and no field overrides the method`() async throws {
        try await run("methods: [GET]") { proxy in
            let head = try await proxy.exchange(Raw.request("HEAD", "/orders/1"), .none)
            #expect(head.status == 200)
            for field in [
                "X-HTTP-Method-Override", "X-Http-Method", "x_method-Override", "X.Method",
                "X~HTTP~Method~Override", "X!Method",
            ] {
                let line = "\(field): DELETE"
                let answer = try await status("GET", "/orders/1", with: line, of: proxy)
                #expect(answer == 403)
            }
            let queries = [
                ("_method=DELETE", 403), ("a&%5fMethod=x", 403), ("a=_method", 200),
                // Parameter names as PHP reads them.
                (".method=x", 403), ("%2emethod=x", 403), ("+_method=x", 403),
                ("%20+.method=x", 403),
                ("[method=x", 403), ("_method[]=x", 403), ("_method%5B0]=x", 403),
                ("a;%09_method", 403),
                ("X-HTTP-Method-Override=PUT", 403), ("x.http.method=PUT", 403),
                // The override of Facebook's API.
                ("method=delete", 403), ("method=PUT", 403), ("method=get", 200),
                ("method=a.b", 200),
                ("method", 200), ("my_method=DELETE", 200), ("_methods=x", 200),
                ("method[]=x", 200),
                ("a=1&_methodology=x", 200), ("q=%5B_method", 200),
            ]
            for (query, status) in queries {
                let answer = try await self.status("GET", "/orders/1?\(query)", of: proxy)
                #expect(answer == status, "\(query)")
            }
        }
    }

    @Test(arguments: ["", "/v2"])
    func `a path that is not listed is refused`(base: String) async throws {
        try await run("paths: [/items/*, /health]", base: base) { proxy in
            for path in [
                "/items/1", "/items/", "/items/a/b?x=/admin", "/health", "/items/%C3%A9.+x",
            ] {
                let answer = try await status("GET", "/orders\(path)", of: proxy)
                #expect(answer == 200, "\(path)")
            }
            for path in ["/items", "/healthy", "/", "", "?x", "/admin?x=/items/1", "//items/1"] {
                let answer = try await status("GET", "/orders\(path)", of: proxy)
                #expect(answer == 403, "\(path)")
            }
        }
    }

    @Test(arguments: [
        "/items/../admin", "/items/%2e%2E/admin", "/items/..%2fadmin", "/items/..;/admin",
        "/items/./1", "/items/x%5c..%5cadmin", "/items/%252e%252e/admin", "/items/..%3Bx/admin",
        "/items//1", "/items/1/delete;.json", "/items;x/1", "/items/1%3f/x", "/items/1%23",
        "/items/%c0%ae%c0%ae/admin", "/items/..%20/admin", "/items/..%09/admin", "/items/.../admin",
        "/items/%ef%bc%8e%ef%bc%8e/admin", "/items/..%ff/admin",
        "/items/%e2%80%a5/admin", "/items/..%ef%bc%8fadmin", "/items/.%e2%80%8b./admin",
        "/items/%ef%bb%bf../admin", "/items/a/..\\b", "/items/%c2%ad..%2fadmin",
    ])
    func `an ambiguous path matches no pattern`(path: String) async throws {
        try await run("paths: [/items/*]") { proxy in
            let answer = try await status("GET", "/orders\(path)", of: proxy)
            #expect(answer == 403)
        }
    }

    /// RFC 3986 §6.2.2: the case of an escape has no meaning, and an unnecessary escape changes nothing.
    @Test func `path rules match any percent-encoding`() async throws {
        try await run("paths: [/a%2fb/*, '/caf\u{E9}/*', '/x{y}', '/t%7E']") { proxy in
            let paths = [
                ("/a%2Fb/1", 200), ("/a%2fb/1", 200), ("/%61%2fb/1", 200), ("/a/b/1", 403),
                ("/a%2Fb", 403), ("/a%252fb/1", 403), ("/A%2Fb/1", 403),
                ("/caf%C3%A9/1", 200), ("/caf%c3%a9/1", 200), ("/caf\u{E9}/1", 200),
                ("/cafe%CC%81/1", 403), ("/caf\u{E9}/../1", 403), ("/caf%E9/1", 403),
                ("/x{y}", 200), ("/x%7by%7D", 200), ("/t~", 200), ("/t%7e", 200),
            ]
            for (path, status) in paths {
                let answer = try await self.status("GET", "/orders\(path)", of: proxy)
                #expect(answer == status, "\(path)")
            }
        }
    }

    @Test func `no field overrides the path`() async throws {
        try await run("paths: [/items/*]") { proxy in
            for field in [
                "X-Original-URL", "x_rewrite_url", "Destination", "X-Forwarded-Uri",
                "X~Original~URL", "X.Envoy.Original.Path",
            ] {
                let line = "\(field): /admin"
                let answer = try await status("GET", "/orders/items/1", with: line, of: proxy)
                #expect(answer == 403)
            }
        }
    }

    @Test func `without lists every method and path is allowed`() async throws {
        try await run("") { proxy in
            let answer = try await status("DELETE", "/orders/items/../1", of: proxy)
            #expect(answer == 200)
            let field = "X-HTTP-Method-Override: DELETE"
            let posted = try await status("POST", "/orders/1", with: field, of: proxy)
            #expect(posted == 200)
        }
    }
}
