import NetworkCore
import OAuth
import TestSupport
import Testing

/// Tokens that follow a refused one without a request because of the refusal: they may have been
/// revoked together.
@Suite struct AdoptedTokenTests {
    private let first = OAuthHarness(grant: .refreshToken(initial: Secret("initial")))
    private let second: OAuthHarness

    init() {
        second = OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            clock: first.clock,
            server: first.server,
            store: first.store
        )
    }

    /// Stores a token unknown to the first manager, and revokes all tokens.
    private func revokeTokensOfBoth() async throws {
        _ = try await first.token()
        _ = try await second.token()
        first.server.revokeAccess()
        #expect(try await second.send().response.status == 200)
        first.server.revokeAccess()
    }

    @Test
    func `a refused token of another manager is renewed, and the request is sent again`()
        async throws
    {
        try await revokeTokensOfBoth()
        let (response, context) = try await first.send()
        #expect(response.status == 200)
        #expect(context.retries == [.unauthorized, .unauthorized])
        #expect(context.authorization?.notReplayed == nil)
        #expect(first.requests == 3)
    }

    @Test func `a token whose renewal had begun before is renewed, and the request sent again`()
        async throws
    {
        _ = try await first.token()
        first.clock.advance(by: .seconds(3400))
        first.server.gate.close()
        _ = try await first.token()
        #expect(await eventually { first.server.gate.waiting == 1 })
        first.server.revokeAccess()
        first.onEvent { [server = first.server] event in
            if case .refreshed(generation: 2, _, _) = event { server.revokeAccess() }
        }
        async let answer = first.send()
        #expect(await eventually { await first.manager.status().waiters == 1 })
        first.server.gate.open()
        let (response, context) = try await answer
        first.onEvent(nil)
        #expect(response.status == 200)
        #expect(context.retries == [.unauthorized, .unauthorized])
        #expect(first.requests == 3)
    }

    @Test func `a second replay is the last one`() async throws {
        try await revokeTokensOfBoth()
        first.api.refuseEverything()
        let (response, context) = try await first.send()
        #expect(response.status == 401)
        #expect(context.retries == [.unauthorized, .unauthorized])
        #expect(context.authorization?.notReplayed == .alreadyReplayed)
        #expect(first.requests == 3)
        // The token requested because of a refusal has not helped: renewals pause.
        let (_, later) = try await first.send()
        #expect(later.authorization?.notReplayed == .tokenRefusedAgain)
        #expect(first.requests == 3)
    }

    @Test func `others learn that the token behind a refused trial was refused, too`() async throws
    {
        try await revokeTokensOfBoth()
        // All requests wait for the store.
        let lock = try await first.store.lock(
            until: first.clock.now + .seconds(5),
            clock: first.clock
        )
        let (stream, verdicts) = AsyncStream<Verdict>.makeStream()
        func report(_ generation: Int) {
            Task { verdicts.yield(await first.reject(generation)) }
        }
        for _ in 1...12 { report(1) }
        #expect(await eventually { await first.manager.status().waiters == 12 })
        first.server.gate.close()
        lock.release()
        var told = stream.makeAsyncIterator()
        #expect(await told.next() == .replay)
        // The request that has tried the other manager's token.
        report(2)
        #expect(await eventually { await first.manager.status().waiters == 12 })
        first.server.gate.open()
        #expect(await told.next() == .replay)
        _ = await first.reject(3, intent: .afterReplay)
        for _ in 1...11 { #expect(await told.next() == .passThrough(.tokenRefusedAgain)) }
        #expect(first.requests == 3)
    }

    @Test
    func `a storm tries another manager's token with one request, and is served with the next`()
        async throws
    {
        try await revokeTokensOfBoth()
        let count = 32
        first.api.gate.close()
        let answers = try await withThrowingTaskGroup(of: HTTPStatus.self) { group in
            for _ in 1...count { group.addTask { try await first.send().response.status } }
            #expect(await eventually { first.api.gate.waiting == count })
            first.api.gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count == count && answers.allSatisfy { $0 == 200 })
        #expect(first.requests == 3)
    }
}
