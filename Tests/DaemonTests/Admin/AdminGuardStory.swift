import TestSupport
import Testing

@Suite struct AdminGuardStory {
    private func ask(
        _ line: String,
        host: String = "localhost",
        _ fields: String...
    ) async throws -> RawMessage {
        var answer: RawMessage?
        try await DaemonHarness.run(channels: "orders: { upstream: http://127.0.0.1:9 }") { proxy in
            let host = host.replacing("PORT", with: "\(proxy.adminPort)")
            let fields = fields.map { $0.replacing("PORT", with: "\(proxy.adminPort)") }
            let lines = ["\(line) HTTP/1.1", "Host: \(host)"] + fields
            answer = try await proxy.ask(lines.map { "\($0)\r\n" }.joined() + "\r\n")
        }
        return try #require(answer)
    }

    @Test(arguments: [
        "localhost", "localhost:PORT", "netproxy.localhost", "127.0.0.1", "[::1]:PORT",
    ])
    func `a request for a loopback name is served`(host: String) async throws {
        #expect(try await ask("GET /healthz", host: host).status == 200)
    }

    @Test(arguments: [
        "evil.example", "localhost.evil.example", "notlocalhost", "10.0.0.1", "127.evil.example",
        // Browsers do not treat these as this machine, so they do not identify the requesting page.
        "[::ffff:127.0.0.1]:PORT", "[::ffff:7f00:1]", "0.0.0.0:PORT", "[::]", "[::127.0.0.1]",
    ])
    func `a request for another name is refused`(host: String) async throws {
        #expect(try await ask("GET /status", host: host).status == 421)
    }

    @Test(arguments: [
        "Origin: http://evil.example", "Origin: http://localhost:PORT.evil.example", "Origin: null",
        "Origin: http://localhost:1",
        "Origin: https://localhost:PORT", "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site", "Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site",
        "Origin: http://localhost:PORT\r\nOrigin: http://evil.example",
    ])
    func `a request of another web page is refused`(field: String) async throws {
        #expect(try await ask("GET /", host: "localhost:PORT", field).status == 403)
        let change = try await ask(
            "POST /reload",
            host: "localhost:PORT",
            field,
            "Netproxy-Admin: 1"
        )
        #expect(change.status == 403)
    }

    @Test(arguments: [
        "Origin: http://localhost:PORT", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: none",
    ])
    func `the page's own requests are served`(field: String) async throws {
        #expect(try await ask("GET /status", host: "localhost:PORT", field).status == 200)
    }

    @Test(arguments: ["plan", "plan=true", "plan=1"])
    func `a planned reload changes nothing`(query: String) async throws {
        let answer = try await ask("POST /reload?\(query)", "Netproxy-Admin: 1")
        #expect(answer.status == 200)
        #expect(answer.body == "nothing would change: story.yaml\n")
    }

    @Test func `a reload with an unknown parameter is refused`() async throws {
        #expect(try await ask("POST /reload?paln", "Netproxy-Admin: 1").status == 400)
    }

    @Test(arguments: ["Netproxy-Admin: 0", "Netproxy-Admin:", "Netproxy-Admin: 1, 1"])
    func `a change requires the exact value of the field`(field: String) async throws {
        let refusal = try await ask("POST /reload", field)
        #expect(refusal.status == 403)
        #expect(refusal.body.contains("Netproxy-Admin: 1"))
    }

    @Test(arguments: ["POST /reload", "DELETE /channels/orders/token", "POST /nowhere"])
    func `a change requires the Netproxy-Admin field`(line: String) async throws {
        let refusal = try await ask(line)
        #expect(refusal.status == 403)
        #expect(refusal.body.contains("Netproxy-Admin: 1"))
        #expect(try await ask(line, "Netproxy-Admin: 1").status != 403)
    }

    @Test func `content beyond the limit is refused, not dropped`() async throws {
        try await DaemonHarness.run(channels: "orders: { upstream: http://127.0.0.1:9 }") { proxy in
            let change = ["Netproxy-Admin: 1"]
            for fields in [["Content-Length: 4097"], ["Transfer-Encoding: chunked"]] {
                let head = Raw.request("POST", "/reload", fields: change + fields)
                let app = try await proxy.admin(sending: head)
                if fields[0].hasPrefix("T") {
                    try await app.send("1001\r\n" + String(repeating: "x", count: 4097) + "\r\n")
                }
                let answer = try await app.message()
                #expect(answer.status == 413)
                #expect(answer.body.contains("longer than the 4096 bytes"))
            }
        }
    }

    @Test(arguments: ["Netproxy-Admin: 0", "Netproxy-Admin: 1\r\nOrigin: http://evil.example"])
    func `a head is checked before its content arrives`(fields: String) async throws {
        try await DaemonHarness.run(channels: "orders: { upstream: http://127.0.0.1:9 }") { proxy in
            let fields = ["Content-Length: 16777216", "Expect: 100-continue", fields]
            let app = try await proxy.admin(
                sending: Raw.request("POST", "/reload", fields: fields)
            )
            #expect(try await app.message().status == 403)
        }
    }

    @Test func `malformed content is 400`() async throws {
        let answer = try await ask(
            "POST /reload",
            "Netproxy-Admin: 1\r\nTransfer-Encoding: chunked",
            "\r\nnone"
        )
        #expect(answer.status == 400)
    }

    @Test(arguments: ["/healthz", "/readyz", "/metrics", "/status", "/"])
    func `a probe can use HEAD`(path: String) async throws {
        try await DaemonHarness.run(channels: "orders: { upstream: http://127.0.0.1:9 }") { proxy in
            let app = try await proxy.admin(sending: Raw.request("HEAD", path))
            let answer = try await app.message(.none)
            #expect(answer.status == 200)
            #expect(answer["Content-Length"] != nil)
        }
    }

    @Test(arguments: [
        ("GET /reload", 405, "POST"), ("POST /healthz", 405, "GET, HEAD"),
        ("PUT /channels/orders/token", 405, "DELETE"), ("GET /nowhere", 404, nil),
        ("DELETE /other/orders/token", 404, nil), ("POST /other/orders/token/refresh", 404, nil),
        ("POST /channels/orders/token/other", 404, nil),
    ])
    func `a wrong method or an unknown path is refused`(
        line: String,
        status: Int,
        allowed: String?
    ) async throws {
        let answer = try await ask(line, "Netproxy-Admin: 1")
        #expect(answer.status == status)
        #expect(answer["Allow"] == allowed)
        #expect(answer.body.contains(status == 404 ? "there is no /" : " is for "))
    }

    @Test func `a refusal is a problem document in JSON`() async throws {
        let answer = try await ask("GET /no\"where")
        #expect(answer["Content-Type"] == "application/problem+json")
        let detail = #"there is no /no\"where here"#
        #expect(answer.body == #"{"status":404,"detail":"\#(detail)"}"# + "\n")
    }

    @Test(arguments: [("POST /reload", true), ("POST /reload?plan", false)])
    func `a plan does not reload the configuration`(line: String, isReload: Bool) async throws {
        let answer = try await ask(line, "Netproxy-Admin: 1")
        #expect(answer.status == 200)
        #expect(answer.body.hasPrefix("the configuration was reloaded") == isReload)
    }

    @Test func `the page contains all of its resources`() async throws {
        let page = try await ask("GET /")
        #expect(page.status == 200)
        #expect(page["Content-Type"] == "text/html; charset=utf-8")
        // The status names upstreams, and must be text without markup.
        let parts = page.body.split(separator: "<pre>", maxSplits: 1)
        let text = try #require(parts.last?.split(separator: "</pre>", maxSplits: 1).first)
        #expect(text.hasPrefix("serving on ") && !text.contains("<"))
        let markup = page.body.replacing(text, with: "")
        for part in [
            "src=", "url(", "@import", "innerHTML", "document.write", "http://", "https://",
        ] {
            #expect(!markup.contains(part), "\(part)")
        }
    }

    @Test func `the page's policy allows only its own script`() async throws {
        let (first, second) = (try await ask("GET /"), try await ask("GET /"))
        let policy = try #require(first["Content-Security-Policy"])
        #expect(policy.hasPrefix("default-src 'none'; script-src 'nonce-"))
        #expect(!policy.contains("unsafe"))
        let nonce = try #require(policy.split(separator: "'").first { $0.hasPrefix("nonce-") })
        #expect(first.body.contains("<script nonce=\"\(nonce.dropFirst(6))\">"))
        #expect(second["Content-Security-Policy"] != policy)
    }
}
