import NetworkCore
import OAuth
import TestSupport
import Testing

/// Requests that wait: for a renewal, and for the attempt after a failed one.
@Suite struct TokenWaitTests {
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

    @Test func `a back-off longer than the patience fails immediately`() async {
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

    @Test func `a caller that gives up leaves the renewal alone`() async throws {
        let harness = OAuthHarness()
        harness.server.gate.close()
        let caller = Task { try await harness.token() }
        #expect(await eventually { await harness.manager.status().waiters == 1 })
        caller.cancel()
        await #expect(throws: NetworkError.self) { try await caller.value }
        harness.server.gate.open()
        #expect(await eventually { harness.manager.currentCredential() != nil })
        #expect(harness.requests == 1)
    }

    @Test func `waiting ends at the exchange's own deadline`() async throws {
        let harness = OAuthHarness()
        harness.server.gate.close()
        let deadline = harness.clock.now + .seconds(2)
        let caller = Task { try await harness.manager.credential(until: deadline) }
        #expect(await eventually { await harness.manager.status().waiters == 1 })
        harness.clock.advance(by: .seconds(3))
        let error = await #expect(throws: NetworkError.self) { try await caller.value }
        #expect(error?.kind == .httpResponseTimeout)
        #expect(error?.retryAfter == nil)
        harness.server.gate.open()
    }

    @Test func `a replay waits no longer than its exchange may take`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.gate.close()
        let deadline = harness.clock.now + .seconds(2)
        let verdict = Task { await harness.reject(1, until: deadline) }
        #expect(await eventually { await harness.manager.status().waiters == 1 })
        harness.clock.advance(by: .seconds(2))
        #expect(await eventually { await harness.manager.status().waiters == 0 })
        harness.server.gate.open()
        #expect(await verdict.value == .passThrough(.waitTimeout))
    }

    @Test func `waiting ends at the manager's own limit, before a later deadline`() async throws {
        let harness = OAuthHarness { $0.waitTimeout = .seconds(5) }
        harness.server.gate.close()
        let deadline = harness.clock.now + .seconds(60)
        let caller = Task { try await harness.manager.credential(until: deadline) }
        #expect(await eventually { await harness.manager.status().waiters == 1 })
        harness.clock.advance(by: .seconds(6))
        let error = await #expect(throws: NetworkError.self) { try await caller.value }
        #expect(error?.kind == .credentialUnavailable)
        #expect(error?.retryAfter == 1)
        harness.server.gate.open()
    }

    @Test func `one waiter too many is turned away at once`() async throws {
        let harness = OAuthHarness { $0.waiterLimit = 2 }
        harness.server.gate.close()
        let callers = (0..<2).map { _ in Task { try await harness.token() } }
        #expect(await eventually { await harness.manager.status().waiters == 2 })
        let error = await harness.failure()
        #expect(error?.kind == .credentialUnavailable)
        #expect(error?.retryAfter == 1)
        harness.server.gate.open()
        for caller in callers { #expect(try await caller.value == "Bearer access-1") }
    }

    @Test func `a token endpoint that never responds frees its slot`() async throws {
        let harness = OAuthHarness()
        harness.server.gate.close()
        let caller = Task { try await harness.token() }
        #expect(await eventually { harness.server.gate.waiting == 1 })
        // The request's own limit, and the watchdog's: the lock's 32 s, three requests of 10 s and a little
        // more, of which the last 15 s are awake.
        #expect(
            await eventually {
                Set(harness.clock.slept).isSuperset(of: [.seconds(15), .seconds(52)])
            }
        )
        harness.clock.advance(by: .seconds(52))
        #expect(await eventually { harness.clock.slept.count { $0 == .seconds(15) } == 2 })
        harness.clock.advance(by: .seconds(15))
        await #expect(throws: NetworkError.self) { try await caller.value }
        #expect(await eventually { await harness.manager.status().state == .failed })
        harness.server.gate.open()
        harness.clock.advance(by: .seconds(60))
        #expect(try await harness.token().hasPrefix("Bearer access-"))
        // Once, although the abandoned request ended as well.
        #expect(harness.events.count { if case .failed = $0 { true } else { false } } == 1)
    }
}
