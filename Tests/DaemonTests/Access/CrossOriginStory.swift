import TestSupport
import Testing

/// The CORS responses for the pages in `access.origins`.
@Suite struct CrossOriginStory {
    private static let page = "Origin: https://app.example"

    private func run(
        _ access: String = "",
        answering fields: [String] = [],
        _ story: (DaemonHarness, OriginServer) async throws -> Void
    ) async throws {
        let origin = try await OriginServer.start { _ in
            Raw.response("200 OK", fields: fields, body: "in")
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  auth: { bearer: 'literal:secret' }
                  access: { origins: ['https://app.example'], \(access) }
                dead:
                  upstream: http://127.0.0.1:\(RefusingPort.any())
                  retry: { attempts: 0 }
                  access: { origins: ['https://app.example'] }
                """
        ) { proxy in try await story(proxy, origin) }
    }

    private func preflight(
        _ target: String = "/orders/1",
        asking fields: String...,
        page: String = page
    ) -> String {
        Raw.request(
            "OPTIONS",
            target,
            fields: [
                page, "Access-Control-Request-Method: PUT", "Sec-Fetch-Mode: cors",
                "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: empty",
            ] + fields
        )
    }

    @Test func `netproxy responds to a preflight even if the channel requires a key`() async throws
    {
        try await run("key: 'literal:sesame', paths: [/none]") { proxy, origin in
            let asked = "Access-Control-Request-Headers: x-a, content-type,,authorization"
            let answer = try await proxy.exchange(preflight(asking: asked))
            #expect(answer.status == 204)
            #expect(answer.values("Access-Control-Allow-Origin") == ["https://app.example"])
            #expect(answer["Access-Control-Allow-Credentials"] == "true")
            #expect(
                answer["Access-Control-Allow-Headers"] == "x-a, content-type, authorization"
            )
            #expect(answer["Access-Control-Allow-Methods"]?.contains("PUT") == true)
            #expect(answer["Access-Control-Max-Age"] == "600")
            #expect(answer["Access-Control-Allow-Private-Network"] == nil)
            let varying = answer.values("Vary").joined(separator: ", ")
            #expect(varying.contains("Origin") && varying.contains("Access-Control-Request-Method"))
            #expect(origin.connections.isEmpty)
            let line = try await proxy.onlyLine("orders")
            #expect(line.facts.status == 204)
        }
    }

    @Test(arguments: ["Private", "Local"])
    func `a preflight from another network is allowed`(kind: String) async throws {
        try await run { proxy, _ in
            let asked = "Access-Control-Request-\(kind)-Network: true"
            let answer = try await proxy.exchange(preflight(asking: asked))
            #expect(answer["Access-Control-Allow-\(kind)-Network"] == "true")
        }
    }

    @Test func `a preflight response lists the methods that the channel allows`() async throws {
        try await run("methods: [GET, PATCH]") { proxy, _ in
            let answer = try await proxy.exchange(preflight())
            #expect(answer.status == 204)
            #expect(answer["Access-Control-Allow-Methods"] == "GET, PATCH, HEAD")
        }
    }

    @Test func `a custom method is allowed if the channel allows all methods`() async throws {
        try await run { proxy, _ in
            let request = preflight().replacing(
                "Request-Method: PUT",
                with: "Request-Method: QUERY"
            )
            let answer = try await proxy.exchange(request)
            #expect(answer["Access-Control-Allow-Methods"]?.hasSuffix(", QUERY") == true)
        }
    }

    @Test(arguments: [
        "Origin: https://evil.example", "Origin: null", "Origin: https://app.example:1",
    ])
    func `a preflight of an unlisted page is refused and not forwarded`(page: String) async throws {
        try await run { proxy, origin in
            let answer = try await proxy.exchange(preflight(page: page))
            #expect(answer.status == 403)
            #expect(answer["Access-Control-Allow-Origin"] == nil)
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `an OPTIONS request without preflight fields is forwarded`() async throws {
        try await run { proxy, origin in
            let answer = try await proxy.exchange(
                Raw.request("OPTIONS", "/orders/1", fields: [CrossOriginStory.page])
            )
            #expect(answer.body == "in")
            #expect(origin.requests.count == 1)
        }
    }

    @Test func `a response contains one set of CORS fields, regardless of those of the API`()
        async throws
    {
        let fields = [
            "Access-Control-Allow-Origin: *", "access-control-allow-credentials: false",
            "Access-Control-Expose-Headers: X-Other", "Vary: Accept-Encoding", "X-Rate: 7",
            "Set-Cookie: a=b", "ETag: x",
        ]
        try await run(answering: fields) { proxy, _ in
            let answer = try await proxy.exchange(Raw.get("/orders/1", CrossOriginStory.page))
            #expect(answer.status == 200)
            #expect(answer.values("Access-Control-Allow-Origin") == ["https://app.example"])
            #expect(answer.values("Access-Control-Allow-Credentials") == ["true"])
            let exposed = try #require(answer["Access-Control-Expose-Headers"])
            #expect(exposed.contains("X-Rate") && exposed.contains("ETag"))
            #expect(!exposed.contains("Cookie") && !exposed.contains("Access-Control"))
            #expect(answer.values("Vary") == ["Accept-Encoding", "Origin"])
        }
    }

    @Test func `an API does not see the origin of a listed page, which it need not know`()
        async throws
    {
        try await run { proxy, origin in
            _ = try await proxy.exchange(Raw.get("/orders/1", CrossOriginStory.page))
            #expect(origin.requests.first?["Origin"] == nil)
        }
    }

    @Test func `a client that is not a page receives the CORS fields of the API`() async throws {
        try await run(answering: ["Access-Control-Allow-Origin: *"]) { proxy, _ in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.values("Access-Control-Allow-Origin") == ["*"])
            #expect(answer["Vary"] == nil)
        }
    }

    @Test(arguments: [("/dead/1", 502), ("/orders/1", 401), ("/orders/../..", 400), ("/no", 403)])
    func `a listed page can read an error response of netproxy`(target: String, status: Int)
        async throws
    {
        try await run("key: 'literal:sesame'") { proxy, _ in
            let answer = try await proxy.exchange(Raw.get(target, CrossOriginStory.page))
            #expect(answer.status == status)
            #expect(answer["Access-Control-Allow-Origin"] == "https://app.example")
            #expect(answer["Access-Control-Expose-Headers"]?.contains("Proxy-Status") == true)
        }
    }

    @Test func `a request without Origin is refused even if browsers send it for a listed page`()
        async throws
    {
        try await run { proxy, origin in
            let picture = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"]
            for fields in [["Sec-Fetch-Site: same-origin"], picture] {
                let answer = try await proxy.exchange(
                    Raw.request("GET", "/orders/1", fields: fields)
                )
                #expect(answer.status == 403)
            }
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `a host that a web page could rebind is refused before the preflight`() async throws
    {
        try await run { proxy, _ async throws in
            let request = preflight().replacing("Host: localhost", with: "Host: evil.example")
            #expect(try await proxy.exchange(request).status == 421)
        }
    }

    @Test(arguments: [
        "auth: { header: { name: X-Key, value: 'literal:k' } }",
        "headers: { secret: { X-Key: 'literal:k' } }", "headers: { set: { X-Api-Key: k } }",
    ])
    func `every kind of credential protects a channel from web pages`(keys: String) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port), \(keys) }"
        ) { proxy async throws in
            let opened = Raw.get("/orders/1", "Sec-Fetch-Site: none")
            #expect(try await proxy.exchange(opened).status == 403)
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
        }
    }
}
