import TestSupport
import Testing

/// Links and cookies of an upstream in responses to the client.
@Suite struct RewriteStory {
    private func run(
        _ channel: String,
        fields: @escaping @Sendable (_ host: String) -> [String],
        _ story: (DaemonHarness) async throws -> Void
    ) async throws {
        let origin = try await OriginServer.start { request in
            Raw.response("200 OK", fields: fields(request["Host"] ?? ""))
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: 'http://127.0.0.1:\(origin.port)/v1', \(channel) }",
            story
        )
    }

    @Test func `the upstream's own links and cookies are mapped to the channel`() async throws {
        try await run("rewrite: true") { host in
            [
                "Location: http://\(host)/v1/new?x=1", "Content-Location: /v1/42",
                "Link: <http://\(host)/v1/items?page=2>; rel=\"next\"; title=\"<a>\", </v1/x>; rel=up",
                "Link: <https://other.example/v1/y>; rel=alternate", "Refresh: 5; URL='/v1/late'",
                "Set-Cookie: sid=1; Path=/v1; Domain=api.example.com; Secure; HttpOnly",
                "Set-Cookie: all=2; Path=/; SameSite=None; Secure; Partitioned",
                "Set-Cookie: deep=3; path=/v1/items; SameSite=Lax; Expires=Wed, 09 Jun 2027 10:18:14 GMT",
                "Set-Cookie: plain=4", "Set-Cookie: __Host-a=5; Secure; Path=/",
                "Set-Cookie: __Secure-b=6; Secure; Path=/v1",
            ]
        } _: { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/items"))
            #expect(answer["Location"] == "http://localhost/orders/new?x=1")
            #expect(answer["Content-Location"] == "/orders/42")
            #expect(
                answer.values("Link") == [
                    "<http://localhost/orders/items?page=2>; rel=\"next\"; title=\"<a>\", "
                        + "</orders/x>; rel=up",
                    "<https://other.example/v1/y>; rel=alternate",
                ]
            )
            #expect(answer["Refresh"] == "5; URL='/orders/late'")
            #expect(
                answer.values("Set-Cookie") == [
                    "sid=1; Path=/orders; HttpOnly", "all=2; Path=/orders",
                    "deep=3; Path=/orders/items; SameSite=Lax; Expires=Wed, 09 Jun 2027 10:18:14 GMT",
                    "plain=4", "__Host-a=5; Secure; Path=/orders",
                    "__Secure-b=6; Secure; Path=/orders",
                ]
            )
        }
    }

    @Test(arguments: [
        "X-Goog-Upload-URL", "X-Goog-Upload-Control-URL", "Operation-Location",
        "Azure-AsyncOperation", "OData-EntityId", "operation-location",
    ])
    func `fields with URLs of particular APIs are mapped`(name: String) async throws {
        for isMapped in [true, false] {
            try await run("rewrite: \(isMapped)") { host in
                ["\(name): http://\(host)/v1/jobs/7?upload_id=u1"]
            } _: { proxy in
                let request = Raw.get("/orders/jobs", "X-Request-Id: job")
                let answer = try await proxy.exchange(request)
                let why = try await proxy.ask(Raw.get("/why/job")).body.lowercased()
                if isMapped {
                    #expect(answer[name] == "http://localhost/orders/jobs/7?upload_id=u1")
                } else {
                    #expect(answer[name]?.hasSuffix("/v1/jobs/7?upload_id=u1") == true)
                    #expect(why.contains("to the upstream itself: \(name.lowercased()); rewrite"))
                }
            }
        }
    }

    @Test func `links and cookies can be mapped separately`() async throws {
        let fields = ["Location: /v1/new", "Set-Cookie: a=1; Path=/v1"]
        for (part, location, path) in [
            ("links", "/orders/new", "/orders"), ("cookies", "/v1/new", "/orders"),
        ] {
            try await run("rewrite: { \(part): true }") { _ in
                fields
            } _: { proxy in
                let answer = try await proxy.exchange(Raw.get("/orders/items"))
                #expect(answer["Location"] == location)
                #expect(answer["Set-Cookie"] == "a=1; Path=\(path)")
            }
        }
    }

    @Test(
        arguments: [
            ("/orders/items", "a=1; Path=/; HttpOnly", "a=1; Path=/orders; HttpOnly"),
            ("/orders/items", "a=1; path=/second", "a=1; Path=/orders"),
            ("/orders/items", "a=1;PATH = /ordersx ;Secure", "a=1; Path=/orders;Secure"),
            ("/orders/items", "a=1; Path=/orders/b", "a=1; Path=/orders/b"),
            ("/orders/items", "a=1; Path=/orders; Path=/", "a=1; Path=/orders; Path=/orders"),
            ("/orders/items", "a=1", "a=1"), ("/orders", "a=1", "a=1; Path=/orders"),
            ("/orders?x", "a=1; Path", "a=1; Path=/orders"), ("/orders/", "a=1", "a=1"),
            ("/orders/items", "a=1; Path=x", "a=1; Path=/orders"),
            ("/orders/items", "__Host-a=1; Secure; Path=/", "__Host-a=1; Secure; Path=/orders"),
        ]
    )
    func `a cookie is confined to the prefix of its channel`(
        path: String,
        cookie: String,
        sent: String
    ) async throws {
        for rewrite in [true, false] {
            try await run("rewrite: \(rewrite)") { _ in
                ["Set-Cookie: \(cookie)"]
            } _: { proxy in
                let answer = try await proxy.exchange(Raw.get(path))
                let secure = rewrite && !cookie.hasPrefix("__Host-")
                let expected = secure ? sent.replacing(";Secure", with: "") : sent
                #expect(answer["Set-Cookie"] == expected)
            }
        }
    }

    @Test func `a channel's own host confines its cookies without a path`() async throws {
        try await run("match: { hosts: [orders.localhost] }") { _ in
            ["Set-Cookie: a=1; Path=/"]
        } _: { proxy in
            let request = Raw.get("/items").replacing("localhost", with: "orders.localhost")
            let answer = try await proxy.exchange(request)
            #expect(answer["Set-Cookie"] == "a=1; Path=/")
        }
    }

    @Test func `early hints are mapped like the response`() async throws {
        let origin = try await OriginServer.start { _ in
            "HTTP/1.1 103 Early Hints\r\nLink: </v1/style.css>; rel=preload\r\n\r\n" + Raw.ok()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: 'http://127.0.0.1:\(origin.port)/v1', rewrite: true }"
        ) { proxy in
            let app = try await RawClient.connect(to: proxy.port, sending: Raw.get("/orders/x"))
            let hint = try await app.message(.none)
            #expect(hint["Link"] == "</orders/style.css>; rel=preload")
            #expect(try await app.message().status == 200)
        }
    }

    @Test func `an unmapped link is forwarded, and why explains it`() async throws {
        try await run("auth: { bearer: 'literal:t' }") { host in
            [
                "Location: http://\(host)/v1/new", "Link: <https://other.example/x>; rel=next",
                "Set-Cookie: sid=1; Secure",
            ]
        } _: { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/x", "X-Request-Id: away"))
            #expect(answer["Location"]?.hasSuffix("/v1/new") == true)
            #expect(answer["Set-Cookie"] == "sid=1; Secure")
            let why = try await proxy.ask(Raw.get("/why/away")).body
            #expect(why.contains("past netproxy, to the upstream itself: Location; rewrite: true"))
            #expect(why.contains("Set-Cookie is for the upstream's own host, path or https"))
            #expect(why.contains("another server or out of the upstream's base path: Link"))
            #expect(!why.contains("other.example"))
        }
    }

    @Test func `relative links are not explained`() async throws {
        try await run("auth: { bearer: 'literal:t' }") { _ in
            ["Location: next", "Link: <?page=2>; rel=next", "Set-Cookie: sid=1; Path=/; HttpOnly"]
        } _: { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/x", "X-Request-Id: stays"))
            #expect(try await !proxy.ask(Raw.get("/why/stays")).body.contains("links"))
        }
    }
}
