import TestSupport
import Testing

/// W3C Trace Context: `traceparent` in requests and records.
@Suite struct TraceStory {
    @Test(arguments: [("pass", nil), ("start", "00"), ("sampled", "01")])
    func `a channel can begin a trace if the client has none`(
        rule: String,
        flag: String?
    ) async throws {
        let (line, sent) = try await exchange(trace: rule, "tracestate: lost=1")
        guard let flag else {
            #expect(sent["traceparent"] == nil && sent["tracestate"] == "lost=1")
            #expect(line.facts.traceID == nil)
            return
        }
        let value = try #require(sent["traceparent"])
        let match = try #require(value.wholeMatch(of: /00-([0-9a-f]{32})-([0-9a-f]{16})-(0[01])/))
        #expect(line.facts.traceID.map { $0 == match.1 } == true)
        #expect(match.3 == flag)
        #expect(sent["tracestate"] == nil)
        let (next, _) = try await exchange(trace: rule)
        #expect(next.facts.traceID != line.facts.traceID)
    }

    @Test func `the client's own trace continues`() async throws {
        let value = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let (line, sent) = try await exchange(
            trace: "start",
            "traceparent: \(value)",
            "tracestate: a=1"
        )
        #expect(line.facts.traceID == "0af7651916cd43dd8448eb211c80319c")
        #expect(sent["traceparent"] == value && sent["tracestate"] == "a=1")
    }

    @Test func `an invalid trace is replaced`() async throws {
        let (line, sent) = try await exchange(trace: "start", "traceparent: 00-xyz-1-01")
        let id = try #require(line.facts.traceID)
        #expect(sent["traceparent"]?.hasPrefix("00-\(id)-") == true)
    }

    /// Sends a request; returns its log line and the request that arrived upstream.
    private func exchange(
        trace: String,
        _ fields: String...
    ) async throws -> (line: LogLine, sent: RawMessage) {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let channel = "{ upstream: http://127.0.0.1:\(origin.port), trace: \(trace) }"
        var line: LogLine?
        try await DaemonHarness.run(channels: "orders: \(channel)") { proxy in
            let lines = fields.joined(separator: "\r\n")
            let request = lines.isEmpty ? Raw.get("/orders/1") : Raw.get("/orders/1", lines)
            _ = try await proxy.exchange(request)
            line = try await proxy.onlyLine("orders")
        }
        return (try #require(line), try #require(origin.requests.first))
    }
}
