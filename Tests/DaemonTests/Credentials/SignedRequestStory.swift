import TestSupport
import Testing

/// Requests that a channel signs with a shared key.
@Suite struct SignedRequestStory {
    @Test func `each attempt is signed again, and a replaced key is read`() async throws {
        let counter = Counter()
        let origin = try await OriginServer.start { request in
            switch counter.next() {
            case 1: Raw.response("503 Busy")
            case 3: Raw.response("401 Unauthorized")
            default: Raw.ok(request.body)
            }
        }
        let directory = try TokenDirectory()
        try directory.write("c4nary-1", to: "key")
        let channel = """
            pay:
              upstream: http://127.0.0.1:\(origin.port)
              auth:
                hmac:
                  key: file:\(directory.path)/key
                  message: "{body}{nonce}"
                  fields: { X-Nonce: "{nonce}" }
                name: X-Signature
            """
        try await DaemonHarness.run(channels: channel) { proxy in
            let first = try await proxy.exchange(Raw.request("PUT", "/pay/1", body: "note"))
            #expect(first.status == 200 && first.body == "note")
            try directory.write("c4nary-2", to: "key")
            let second = try await proxy.exchange(Raw.post("/pay/1", body: "note"))
            #expect(second.status == 200 && second.body == "note")
            let requests = origin.requests
            #expect(requests.count == 4)
            #expect(Set(requests.map { $0["X-Nonce"] }).count == 4)
            let signatures = requests.compactMap { $0["X-Signature"] }
            #expect(Set(signatures).count == 4 && signatures.allSatisfy { $0.utf8.count == 64 })
            #expect(requests.allSatisfy { $0["Authorization"] == nil })
            let facts = try await proxy.log("pay").map(\.facts)
            #expect(facts.map { $0.auth?.kind } == ["hmac", "hmac"])
            #expect(facts.map(\.retries) == [["status_503"], ["unauthorized"]])
            let logs = try await proxy.allLogs() + proxy.reports.joined()
            #expect(!logs.contains("c4nary"))
        }
    }

    @Test func `content that is too long to sign is refused and not sent`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let channel = """
            pay:
              upstream: http://127.0.0.1:\(origin.port)
              auth: { hmac: { key: "literal:c4nary", message: "{body_sha256}" } }
              retry: { replay_body: 1KiB }
            """
        try await DaemonHarness.run(channels: channel) { proxy in
            let body = String(repeating: "x", count: 1025)
            let answer = try await proxy.exchange(Raw.post("/pay/1", body: body))
            #expect(answer.status == 413)
            #expect(answer.body.contains("retry.replay_body"))
            #expect(origin.requests.isEmpty)
        }
    }
}
