import FoundationEssentials
import TestSupport
import Testing

/// Facts in the log line of an exchange beyond its numbers.
@Suite struct LoggedFactsStory {
    @Test func `configured response fields are logged, but never credentials`()
        async throws
    {
        let origin = try await OriginServer.start { _ in
            Raw.ok("hello", "X-Cost: 7", "Set-Cookie: s3cret", "X-Other: hidden")
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  log: { headers: [X-Cost, Set-Cookie] }
                """
        ) { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/1"))
            let text = try await proxy.onlyLine("orders").text
            #expect(
                text.hasSuffix(
                    #""response_headers":{"x-cost":"7","set-cookie":"<redacted>"}}"#
                )
            )
            #expect(!text.contains("s3cret") && !text.contains("hidden"))
        }
    }

    @Test(arguments: [
        ("auth: { bearer: literal:s3cret-token }", "s3cret-token"),
        ("auth: { basic: { username: me, password: literal:s3cret-word } }", "s3cret-word"),
        (
            "auth: { basic: { username: me, password: literal:s3cret-word } }",
            "bWU6czNjcmV0LXdvcmQ="
        ),
        ("auth: { header: { name: X-Key, value: literal:s3cret-key } }", "s3cret-key"),
        ("headers: { secret: { X-Key: literal:s3cret-key } }", "s3cret-key"),
    ])
    func `a credential that the API repeats is not logged`(
        credential: String,
        secret: String
    ) async throws {
        let origin = try await OriginServer.start { _ in
            Raw.response(
                "401 Unauthorized",
                fields: [
                    "X-Seen: \(secret), and more",
                    "WWW-Authenticate: Bearer error_description=\"no \(secret)\"",
                ]
            )
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  \(credential)
                  log: { headers: [X-Seen, WWW-Authenticate, X_Key, Apikey] }
                """
        ) { proxy in
            _ = try await proxy.exchange(
                Raw.get("/orders/1", "X_Key: s3cret-own", "Apikey: s3cret-own")
            )
            let text = try await proxy.onlyLine("orders").text
            #expect(text.contains(#""x-seen":"%7Bcredential%7D, and more""#))
            #expect(!text.contains(secret))
            #expect(text.contains(#""apikey":"<redacted>""#))
            #expect(text.contains(#""x_key":"<redacted>""#) && !text.contains("s3cret-own"))
        }
    }

    @Test func `a request that no channel claims logs its destination`() async throws {
        try await DaemonHarness.run(channels: "orders: { upstream: http://127.0.0.1:9 }") { proxy in
            _ = try await proxy.exchange(
                "GET http://other.example:81/a HTTP/1.1\r\nHost: other.example:81\r\n\r\n"
            )
            let line = try await proxy.onlyLine("netproxy")
            #expect(line.facts.host == "other.example:81")
            #expect(line.text.contains(#""scheme":"http""#))
            #expect(line.text.contains(#""detail":"no channel matches; there are: orders""#))
        }
    }

    @Test(arguments: [
        ("GET /orders/1?key=1 HTTP/1.1\r\n\r\n", "GET", "/orders/1", "the Host field is missing"),
        (
            "\r\nPUT /orders/1 HTTP/1.1\r\nHost: localhost\r\nExpect: a\r\nContent-Length: 1\r\n\r\n",
            "PUT", "/orders/1", "100-continue is the only expectation supported"
        ),
        (
            "GET http://a.example/b HTTP/1.1\r\nA: \n", "GET", "/b",
            "a line ends with a bare LF instead of CRLF"
        ),
        (
            "GET /orders/\u{1} HTTP/1.1\r\nHost: localhost\r\n\r\n", nil, nil,
            "the field section contains a control byte"
        ),
    ])
    func `a refused head is logged with its request line and a reason`(
        head: String,
        method: String?,
        path: String?,
        reason: String
    ) async throws {
        try await DaemonHarness.run(channels: "orders: { upstream: http://127.0.0.1:9 }") { proxy in
            _ = try await proxy.exchange(head)
            let line = try await proxy.onlyLine("netproxy")
            #expect(line.facts.method == method)
            #expect(line.facts.path == path)
            #expect(line.text.contains(#""detail":"\#(reason)""#))
            #expect(!line.text.contains("key=1"))
        }
    }

    @Test func `a refusal's reason contains no field of the request`() async throws {
        try await DaemonHarness.run(channels: "orders: { upstream: http://127.0.0.1:9 }") { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/1", "Origin: https://page.example"))
            let line = try await proxy.onlyLine("orders")
            #expect(line.text.contains(#""detail":"the request's Origin"#))
            #expect(!line.text.contains("page.example"))
        }
    }

    @Test(arguments: [
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", true),
        ("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", true),
        ("00-00000000000000000000000000000000-b7ad6b7169203331-01", false),
        ("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", false),
        ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false),
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", false),
        ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false),
    ])
    func `only a valid trace id is logged`(value: String, isOne: Bool) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/1", "traceparent: \(value)"))
            #expect(try await proxy.onlyLine("orders").text.contains("trace_id") == isOne)
        }
    }

    @Test func `the line of an exchange with a new connection contains the connect time`()
        async throws
    {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            for _ in 1...2 { _ = try await proxy.exchange(Raw.get("/orders/1")) }
            let lines = try await proxy.log("orders")
            #expect(lines.map { $0.text.contains(#""connect_ms":"#) } == [true, false])
            #expect(lines.map(\.facts.reused) == [false, true])
            #expect(Set(lines.map(\.facts.upstream)) == ["127.0.0.1:\(origin.port)"])
        }
    }

    @Test func `a log that cannot be written is reported`() async throws {
        let stub = "{ stub: [{ path: / }] }"
        try await DaemonHarness.run(channels: "orders: \(stub)\nbills: \(stub)") { proxy in
            for name in ["orders", "bills"] {
                try FileManager.default.createDirectory(
                    atPath: "\(proxy.directory)/log/\(name).log",
                    withIntermediateDirectories: false
                )
                #expect(try await proxy.exchange(Raw.get("/\(name)/")).status == 200)
            }
            let isReported = await eventually {
                proxy.reports.contains { $0.contains("orders.log: open: Is a directory") }
            }
            #expect(isReported)
            // One report for all of them.
            await proxy.stop()
            #expect(proxy.reports.count { $0.contains("Is a directory") } == 1)
        }
    }
}
