import NetworkCore
import TestSupport
import Testing

@Suite struct Renewals {
    @Test func `a token endpoint that names a time is not asked again at once`() async throws {
        let bench = TokenBench(server: .rotating(), grant: .refresh())
        bench.server.script(.reply(503, "", [.retryAfter: "30"]))
        #expect(await networkError { try await bench.token() }?.kind == .credentialUnavailable)
        #expect(bench.tokenRequests == 1)
        bench.clock.advance(by: .seconds(31))
        #expect(try await bench.token() == "Bearer access-1")
    }

    @Test func `a token is not sent once the wall clock is past its expiry`() async throws {
        let bench = TokenBench()
        #expect(try await bench.token() == "Bearer access-1")
        bench.clock.setWall(by: 3601)
        #expect(try await bench.token() == "Bearer access-2")
    }

    @Test func `after a lost answer the same refresh token is presented again`() async throws {
        let bench = TokenBench(server: .rotating(answersSpentToken: true), grant: .refresh())
        bench.server.script(.lost)
        #expect(try await bench.token() == "Bearer access-1")
        #expect(bench.server.asked.map { $0.form("refresh_token") } == ["refresh-0", "refresh-0"])
    }

    @Test func `a caller that goes away does not end the refresh`() async throws {
        let bench = TokenBench()
        bench.server.hold()
        let caller = Task { try await bench.token() }
        await bench.server.untilAsked(1)
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        bench.server.release()
        #expect(try await bench.token() == "Bearer access-1")
        #expect(bench.tokenRequests == 1)
    }
}
