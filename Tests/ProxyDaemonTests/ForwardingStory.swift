import TestSupport
import Testing

@Suite struct ForwardingStory {
    @Test func `a path prefix leads to the channel's upstream and its base path`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok("fine") }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port)/v1 }"
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/42?x=1&y=%2F"))
            #expect(answer.startLine == "HTTP/1.1 200 OK")
            #expect(answer.body == "fine")
            #expect(origin.requests.map(\.startLine) == ["GET /v1/42?x=1&y=%2F HTTP/1.1"])
            let line = try await proxy.onlyLine("orders")
            #expect(line.facts.status == 200)
        }
    }
}
