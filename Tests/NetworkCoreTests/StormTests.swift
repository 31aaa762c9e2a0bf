import NetworkCore
import TestSupport
import Testing

@Suite struct Storms {
    @Test func `a thousand exchanges with one dead token cost one token request`() async throws {
        let bench = TokenBench()
        #expect(try await bench.token() == "Bearer access-1")
        let upstream = Upstream.accepting { $0 != "Bearer access-1" }
        let chain = RequestChain.authorized(by: bench.manager, upstream)
        let failures = try await withThrowingTaskGroup(of: Int.self) { group in
            var failures = 0
            for number in 0..<1000 {
                if number >= 64, let failed = try await group.next() { failures += failed }
                group.addTask { try await chain.exchange().0.status == 200 ? 0 : 1 }
            }
            for try await failed in group { failures += failed }
            return failures
        }
        #expect(failures == 0)
        #expect(bench.events.words == ["refreshed initial", "refreshed unauthorized"])
        #expect(bench.tokenRequests == 2)
    }

    @Test func `callers without a token share the first one`() async throws {
        let bench = TokenBench()
        bench.server.hold()
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<64 { group.addTask { try await bench.token() } }
            await bench.server.untilAsked(1)
            bench.server.release()
            for try await token in group { #expect(token == "Bearer access-1") }
        }
        #expect(bench.tokenRequests == 1)
    }
}
