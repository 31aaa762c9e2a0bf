import NetworkCore
import OAuth
import TestSupport
import Testing

/// A failed attempt behind which the next one comes soon.
@Suite struct OAuthPatience {
    private let error500 = AuthorizationServerModel.Mishap.respond(500, "", [:])

    private func harness() -> OAuthHarness {
        OAuthHarness { $0.failurePatience = .seconds(5) }
    }

    @Test func `a single 500 of the token endpoint fails no request`() async throws {
        let harness = harness()
        harness.server.script(error500)
        let callers = (0..<10).map { _ in Task { try await harness.token() } }
        #expect(await eventually { await harness.manager.status().waiters == 10 })
        #expect(await eventually { await harness.manager.status().state == .failed })
        harness.clock.advance(by: .seconds(1))
        for caller in callers { #expect(try await caller.value == "Bearer access-1") }
        #expect(harness.requests == 2)
    }

    @Test func `a single 500 leaves no 401 uncured`() async throws {
        let harness = harness()
        _ = try await harness.token()
        harness.server.script(error500)
        let verdict = Task { await harness.reject(1) }
        #expect(await eventually { await harness.manager.status().state == .failed })
        #expect(await eventually { await harness.manager.status().waiters == 1 })
        harness.clock.advance(by: .seconds(1))
        #expect(await verdict.value == .replay)
        #expect(harness.requests == 3)
    }

    @Test func `a back-off that is longer than the patience fails at once`() async {
        let harness = harness()
        harness.server.script(.respond(503, "", [.retryAfter: "6"]))
        #expect(await harness.failure()?.retryAfter == 6)
        #expect(await harness.failure()?.retryAfter == 6)
        #expect(harness.requests == 1)
    }

    @Test func `a token endpoint that stays down is a failure when the patience ends`() async {
        let harness = harness()
        harness.server.script(error500, error500, error500, error500, error500, error500)
        let failure = Task { await harness.failure() }
        for attempt in 1...5 {
            #expect(await eventually { harness.requests == attempt })
            #expect(await eventually { await harness.manager.status().waiters == 1 })
            harness.clock.advance(by: .seconds(1))
        }
        #expect(await failure.value?.kind == .credentialUnavailable)
        #expect(harness.requests <= 6)
    }

    @Test func `an attempt that took long to fail is followed by another one`() async throws {
        let harness = harness()
        harness.server.script(error500)
        harness.server.gate.close()
        let token = Task { try await harness.token() }
        #expect(await eventually { harness.server.gate.waiting == 1 })
        harness.clock.advance(by: .seconds(7))
        harness.server.gate.open()
        #expect(await eventually { await harness.manager.status().state == .failed })
        #expect(await eventually { await harness.manager.status().waiters == 1 })
        harness.clock.advance(by: .seconds(1))
        #expect(try await token.value == "Bearer access-1")
    }

    @Test func `a sign-in ends the wait for the next attempt`() async throws {
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial"))) {
            $0.failurePatience = .seconds(5)
        }
        harness.server.script(error500)
        let token = Task { try await harness.token() }
        #expect(await eventually { await harness.manager.status().state == .failed })
        #expect(await eventually { await harness.manager.status().waiters == 1 })
        try await harness.manager.forceRefresh()
        #expect(try await token.value == "Bearer access-1")
    }
}
