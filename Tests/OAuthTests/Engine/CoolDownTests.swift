import NetworkCore
import OAuth
import TestSupport
import Testing

/// Renewals that do not help: an API refuses requests for another reason than the token, without saying
/// so.
@Suite struct CoolDownTests {
    private let harness = OAuthHarness()

    init() {
        harness.api.setChallenge(nil)
        harness.api.refuseEverything(at: "/admin")
    }

    private func status(_ target: String) async throws -> HTTPStatus {
        try await harness.send(Request(origin: OAuthHarness.apiOrigin, target: target))
            .response.status
    }

    /// Five minutes of both, which begin with a renewal.
    private func mixed() async throws {
        for _ in 1...20 {
            #expect(try await status("/orders") == 200)
            #expect(try await status("/admin") == 401)
            harness.clock.advance(by: .seconds(15))
        }
    }

    @Test func `a resource that refuses the token costs one renewal while others succeed`()
        async throws
    {
        try await mixed()
        #expect(harness.requests == 2)
    }

    @Test func `a token that turns out bad is renewed at the second 401`() async throws {
        try await mixed()
        #expect(try await status("/orders") == 200)
        harness.server.revokeAccess()
        #expect(try await status("/orders") == 401)
        #expect(try await status("/orders") == 200)
        #expect(harness.requests == 3)
    }

    @Test func `invalid_token is a reason at once`() async throws {
        try await mixed()
        #expect(try await status("/orders") == 200)
        harness.server.revokeAccess()
        harness.api.setChallenge("Bearer error=\"invalid_token\"")
        #expect(try await status("/orders") == 200)
        #expect(harness.requests == 3)
    }

    @Test func `an API that refuses every token is tried ever more seldom`() async throws {
        var renewals: [Int] = []
        for second in 0..<300 {
            let before = harness.requests
            #expect(try await status("/admin") == 401)
            if harness.requests > before { renewals.append(second) }
            harness.clock.advance(by: .seconds(1))
        }
        // The first one gets a token; the token of each later renewal is refused as well.
        #expect(renewals == [0, 10, 30, 70, 130, 190, 250])
    }

    @Test func `a renewal that helps brings the short pause back`() async throws {
        for _ in 0..<100 {
            _ = try await status("/admin")
            harness.clock.advance(by: .seconds(1))
        }
        harness.clock.advance(by: .seconds(60))
        harness.server.revokeAccess()
        #expect(try await status("/orders") == 200)
        harness.server.revokeAccess()
        #expect(try await status("/orders") == 200)
        #expect(try await status("/admin") == 401)
        let before = harness.requests
        harness.clock.advance(by: .seconds(11))
        #expect(try await status("/admin") == 401)
        #expect(try await status("/admin") == 401)
        #expect(harness.requests == before + 1)
    }
}
