import FoundationEssentials
import TestSupport
import Testing

@testable import NetproxyPath

/// Channels that respond with samples.
@Suite struct StubStory {
    private static let marker = "netproxy; error=proxy_internal_response; details=\"stub\""

    private static let channels = """
        orders:
          upstream: 'http://127.0.0.1:9/v1'
          auth: { bearer: 'literal:sesame' }
          headers: { set: { X-Client: netproxy } }
          access: { key: 'literal:k' }
          retry: { attempts: 1, backoff: { base: 1ms, max: 1ms } }
          stub:
            - { method: GET, path: '/orders/*/items', headers: { X-Kind: items }, body: '[1]' }
            - { method: [POST, PUT], path: '/orders/*', status: 201 }
            - { path: /, body: root }
            - { path: /refused, fault: connection_refused }
            - { path: /cut, body: half, fault: http_response_incomplete }
            - { path: /slow, delay: 5ms, status: 204 }
            - { path: /none, status: 204, fault: http_response_incomplete }
            - { path: /late, delay: 1h }
          timeouts: { total: 30s }
        """

    private func ask(
        _ request: String,
        _ target: String,
        body: String? = nil,
        _ proxy: DaemonHarness
    ) async throws -> RawMessage {
        let key = "Proxy-Authorization: Bearer k"
        return try await proxy.exchange(
            Raw.request(request, target, fields: [key], body: body),
            request == "HEAD" ? .none : .asFramed
        )
    }

    @Test func `the first sample that matches method and path is returned`() async throws {
        try await DaemonHarness.run(channels: StubStory.channels) { proxy in
            let items = try await ask("GET", "/orders/orders/4/2/items?x=/nothing", proxy)
            #expect((items.status, items.body) == (200, "[1]"))
            #expect(items["X-Kind"] == "items")
            #expect(items["Proxy-Status"] == StubStory.marker)
            let head = try await ask("HEAD", "/orders/orders/4/items", proxy)
            #expect((head.status, head["Content-Length"]) == (200, "3"))
            let posted = try await ask("POST", "/orders/orders/4", body: "new", proxy)
            #expect(posted.status == 201)
            #expect(try await ask("GET", "/orders", proxy).body == "root")
            #expect(try await ask("GET", "/orders/slow", proxy).status == 204)
            // A 204 has no content to cut and no framing.
            let none = try await ask("GET", "/orders/none", proxy)
            #expect(none.status == 204)
            #expect(none["Transfer-Encoding"] == nil && none["Content-Length"] == nil)
        }
    }

    @Test(arguments: [
        ("/a/*/c", "/a/b/c", true), ("/a/*/c", "/a/b/b/c", true), ("/a/*/c", "/a//c", true),
        ("/a/*/c", "/a/c", false), ("/a/*/c", "/a/b/c/d", false), ("*c", "/abc", true),
        ("*c", "/abcd", false), ("/*a*b", "/xaxab", true), ("/*a*b", "/xbxa", false),
        ("/a*", "/a", true), ("/a**", "/a", true), ("/a", "/ab", false), ("/ab", "/a", false),
    ])
    func `a star matches any text`(pattern: String, path: String, fits: Bool) {
        #expect(PathPattern(pattern).matches(path) == fits)
    }

    @Test func `a request without a matching sample is 404 with advice`() async throws {
        try await DaemonHarness.run(channels: StubStory.channels) { proxy in
            let answer = try await ask("DELETE", "/orders/orders/4", proxy)
            #expect(answer.status == 404)
            #expect(answer["Proxy-Status"] == StubStory.marker)
            #expect(answer.body.contains("no answer for DELETE /orders/4"))
        }
    }

    @Test func `records and status mark a sample as a stub`() async throws {
        try await DaemonHarness.run(channels: StubStory.channels) { proxy in
            _ = try await ask("POST", "/orders/orders/4", body: "new", proxy)
            let status = try await proxy.ask(Raw.get("/status"))
            #expect(status.body.contains(#""upstream":"stub""#))
            let line = try await proxy.onlyLine("orders")
            #expect((line.facts.status, line.facts.upstreamStatus) == (201, 201))
            #expect((line.facts.host, line.facts.upstream) == ("stub.localhost", "stub"))
            #expect((line.facts.path, line.facts.bytesIn) == ("/v1/orders/4", 3))
            #expect(line.facts.auth?.kind == "bearer")
            #expect(proxy.reports.contains { $0.contains("orders: answers from its stub") })
        }
    }

    @Test func `a sample is sent after the request content, regardless of its length`() async throws
    {
        try await DaemonHarness.run(channels: StubStory.channels) { proxy in
            let answer = try await proxy.exchange(
                Raw.request(
                    "POST",
                    "/orders/orders/4",
                    fields: ["Proxy-Authorization: Bearer k", "Transfer-Encoding: chunked"]
                ) + "3\r\nnew\r\n4\r\nmore\r\n0\r\n\r\n"
            )
            #expect(answer.status == 201)
            #expect(answer["Connection"] == "keep-alive")
            #expect(try await proxy.onlyLine("orders").facts.bytesIn == 7)
        }
    }

    @Test func `access rules apply to a stub`() async throws {
        try await DaemonHarness.run(channels: StubStory.channels) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders"))
            #expect(answer.status == 401)
        }
    }

    @Test func `a stubbed fault is reported, retried and logged like a fault of an upstream`()
        async throws
    {
        try await DaemonHarness.run(channels: StubStory.channels) { proxy in
            let answer = try await ask("GET", "/orders/refused", proxy)
            #expect(answer.status == 502)
            #expect(answer["Proxy-Status"] == "netproxy; error=connection_refused")
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.attempts == 2)
            #expect(facts.retries == ["connection_refused"])
            #expect((facts.error, facts.upstream) == ("connection_refused", "stub"))
        }
    }

    @Test func `a stubbed response that breaks off is incomplete for the client`() async throws {
        try await DaemonHarness.run(channels: StubStory.channels) { proxy in
            let app = try await RawClient.connect(
                to: proxy.port,
                sending: Raw.get("/orders/cut", "Proxy-Authorization: Bearer k")
            )
            let (text, end) = try await app.rest()
            #expect(text.contains("half"))
            #expect(!text.hasSuffix("0\r\n\r\n"))
            #expect(end == .reset)
            #expect(try await proxy.onlyLine("orders").facts.error == "http_response_incomplete")
        }
    }

    @Test func `the total timeout applies to a delayed sample`() async throws {
        let channels = StubStory.channels.replacing("total: 30s", with: "total: 20ms")
        try await DaemonHarness.run(channels: channels) { proxy in
            let answer = try await ask("GET", "/orders/late", proxy)
            #expect(answer.status == 504)
            #expect(try await proxy.onlyLine("orders").facts.upstream == "stub")
        }
    }

    @Test func `the response timeout applies to a delayed sample`() async throws {
        let late = "late: { stub: [{ delay: 1h }], timeouts: { response: 20ms } }"
        try await DaemonHarness.run(channels: late) { proxy in
            let answer = try await proxy.exchange(Raw.get("/late/1"))
            #expect(answer.status == 504)
            #expect(try await proxy.onlyLine("late").facts.error == "http_response_timeout")
        }
    }

    /// The idle timeout applies to periods without progress, regardless of the size.
    @Test func `a large sample can take longer than the idle timeout`() async throws {
        let step = String(repeating: "x", count: 512 * 1024 - 1) + "\n"
        try await DaemonHarness.run(channels: "spare: { stub: [{ status: 204 }] }") { proxy in
            let path = "\(proxy.directory)/sample"
            try Data(String(repeating: step, count: 14).utf8).write(to: URL(filePath: path))
            await proxy.reload(
                channels: "big: { stub: [{ file: '\(path)' }], timeouts: { idle: 10s } }"
            )
            let app = try await proxy.connect()
            try await app.send(Raw.get("/big/1"))
            try await app.read(through: "\r\n\r\n")
            for _ in 0..<14 {
                try await app.read(through: "\n")
                await proxy.advance(by: .seconds(1))
            }
            #expect(try await proxy.onlyLine("big").facts.bytesOut == 14 * 512 * 1024)
        }
    }

    @Test func `a changed sample file takes effect with a reload`() async throws {
        try await DaemonHarness.run(channels: "spare: { stub: [{ status: 204 }] }") { proxy in
            let path = "\(proxy.directory)/sample"
            let channels = "orders: { stub: [{ file: '\(path)' }] }"
            await proxy.reload(channels: channels)
            #expect(proxy.reports.contains { $0.contains("stub[0].file: cannot read \(path)") })
            var seen: [String] = []
            for text in ["one", "two"] {
                try Data(text.utf8).write(to: URL(filePath: path))
                await proxy.reload(channels: channels)
                seen.append(try await proxy.exchange(Raw.get("/orders/1")).body)
            }
            #expect(seen == ["one", "two"])
        }
    }
}
