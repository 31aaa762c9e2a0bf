import NetworkCore
import OAuth
import TestSupport
import Testing

/// Too many renewals, many in a row, and credentials that come and go.
@Suite struct RenewalExcessGuardTests {
    @Test func `the guard can be switched off`() async throws {
        let harness = OAuthHarness { $0.excessGuard = nil }
        _ = try await harness.token()
        for generation in 1..<20 { #expect(await harness.reject(generation) == .replay) }
        #expect(harness.requests == 20)
    }

    @Test func `before sending, too many renewals are refused with the time to wait`() async throws
    {
        let harness = OAuthHarness()
        // Every token expires immediately, so every request needs one.
        harness.server.setLifetime("0")
        for round in 0..<5 {
            _ = try await harness.token()
            _ = await harness.reject(2 * round + 1)
        }
        _ = try await harness.token()
        #expect(await harness.reject(11) == .passThrough(.excess))
        let error = await harness.failure()
        #expect(error?.kind == .credentialUnavailable)
        #expect(error?.retryAfter == 30)
        #expect(error?.detail.contains("renewed 5 times within 30 s") == true)
        #expect(harness.requests == 11)
    }

    @Test(arguments: [Duration.seconds(-86_400), .seconds(1), .seconds(7200)])
    func `steps of the time of day do not count as excess`(step: Duration) async throws {
        let harness = OAuthHarness()
        harness.server.setLifetime("1")
        for _ in 1...20 {
            _ = try await harness.token()
            harness.clock.setWall(by: step)
            harness.clock.advance(by: .milliseconds(300))
        }
        #expect(await harness.failure() == nil)
    }

    @Test func `renewals of tokens that another process replaced do not count as excess`()
        async throws
    {
        let store = MemoryTokenStore()
        let harness = OAuthHarness(store: store)
        for _ in 1...20 {
            _ = try await harness.token()
            try await harness.manager.forget()
        }
        #expect(await harness.failure() == nil)
    }

    @Test func `tokens that served before they were revoked are an excess much later`()
        async throws
    {
        let harness = OAuthHarness()
        for _ in 0...30 {
            #expect(try await harness.send().0.status == 200)
            harness.server.revokeAccess()
        }
        #expect(harness.requests == 31)
        // Otherwise a client that keeps renewing would make this one renew, too.
        #expect(try await harness.send().0.status == 401)
        #expect(harness.requests == 31)
        #expect(await harness.manager.status().lastFailure?.detail.contains("30 times") == true)
        harness.clock.advance(by: .seconds(30))
        #expect(try await harness.send().0.status == 200)
    }

    @Test func `accepted tokens for one use do not count as excess`() async throws {
        let harness = OAuthHarness()
        harness.server.setLifetime("0")
        for _ in 1...20 { #expect(try await harness.send().0.status == 200) }
        #expect(harness.requests == 20)
    }

    @Test func `a forced renewal is neither counted nor refused`() async throws {
        let harness = OAuthHarness()
        for _ in 1...8 { try await harness.manager.forceRefresh() }
        #expect(harness.requests == 8)
        try await harness.manager.forget()
        _ = try await harness.token()
        #expect(harness.requests == 9)
    }

    @Test func `requests that brought no token are not counted`() async throws {
        let harness = OAuthHarness { $0.failurePatience = .zero }
        _ = try await harness.token()
        harness.server.script(
            .respond(503, "", [:]),
            .respond(503, "", [:]),
            .respond(429, "", [:]),
            .respond(503, "", [:]),
            .unreachable
        )
        #expect(await harness.reject(1) == .passThrough(.refreshFailed))
        for _ in 1..<5 {
            // The longest back-off of these.
            harness.clock.advance(by: .seconds(16))
            harness.server.setLifetime("3600")
            _ = await harness.failure()
        }
        #expect(harness.requests == 6)
        harness.clock.advance(by: .seconds(20))
        #expect(try await harness.token() == "Bearer access-2")
    }

    @Test func `replays count as renewals too`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        for generation in 1...5 {
            #expect(await harness.reject(generation) == .replay)
            _ = try await harness.token()
        }
        #expect(await harness.reject(6) == .passThrough(.excess))
        #expect(harness.requests == 6)
    }

    @Test func `with a guard of zero no 401 causes a renewal`() async throws {
        let harness = OAuthHarness { $0.excessGuard = .init(count: 0, window: .seconds(30)) }
        _ = try await harness.token()
        #expect(await harness.reject(1) == .passThrough(.excess))
        #expect(harness.requests == 1)
    }

    @Test func `all parallel requests hear of the excess`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        for generation in 1...5 { _ = await harness.reject(generation) }
        let verdicts = await withTaskGroup { group in
            for _ in 0..<16 { group.addTask { await harness.reject(6) } }
            return await group.reduce(into: [Verdict]()) { $0.append($1) }
        }
        #expect(verdicts.allSatisfy { $0 == .passThrough(.excess) })
        #expect(harness.requests == 6)
    }

    @Test func `when renewals happened is remembered over a success`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        for generation in 1...5 { _ = await harness.reject(generation) }
        harness.clock.advance(by: .seconds(29))
        #expect(await harness.reject(6) == .passThrough(.excess))
        harness.clock.advance(by: .seconds(2))
        #expect(await harness.reject(6) == .replay)
        #expect(harness.requests == 7)
    }

    @Test func `many renewals in a row work as well as the first`() async throws {
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")))
        for expected in 1...12 {
            #expect(try await harness.token() == "Bearer access-\(expected)")
            harness.clock.advance(by: .seconds(3600))
        }
        #expect(!harness.server.sawReuse)
    }

    @Test func `tokens that live for seconds are renewed while the API accepts them`() async throws
    {
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")))
        harness.server.setLifetime("3")
        for expected in 1...30 {
            #expect(try await harness.token() == "Bearer access-\(expected)")
            harness.clock.advance(by: .seconds(2))
        }
        #expect(harness.requests == 30)
        #expect(!harness.server.sawReuse)
    }

    @Test func `a hint for a renewal each second is followed every six seconds`() async throws {
        let harness = OAuthHarness()
        harness.server.setExtra(#","refresh_in":1"#)
        _ = try await harness.token()
        for expected in 2...10 {
            harness.clock.advance(by: .milliseconds(5999))
            _ = try await harness.token()
            #expect(await harness.manager.status().state == .fresh)
            harness.clock.advance(by: .milliseconds(1))
            _ = try await harness.token()
            #expect(await eventually { harness.requests == expected })
            #expect(await eventually { await harness.manager.status().state == .fresh })
        }
    }

    @Test func `tokens refused before their expiry still count`() async throws {
        let harness = OAuthHarness()
        harness.server.setLifetime("3")
        _ = try await harness.token()
        for generation in 1...5 { #expect(await harness.reject(generation) == .replay) }
        harness.clock.advance(by: .seconds(2))
        #expect(await harness.reject(6) == .passThrough(.excess))
        #expect(harness.requests == 6)
    }

    @Test func `a request during a background renewal is not kept waiting`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.clock.advance(by: .seconds(3400))
        harness.server.gate.close()
        for _ in 0..<3 { #expect(try await harness.token() == "Bearer access-1") }
        #expect(await eventually { harness.server.gate.waiting == 1 })
        #expect(harness.requests == 2)
        harness.server.gate.open()
    }

    @Test func `before sending, a credential from outside ends a failure`() async throws {
        let store = MemoryTokenStore()
        let harness = OAuthHarness(grant: .refreshToken(initial: nil), store: store)
        #expect(await harness.failure()?.kind == .reauthorizationRequired)
        try store.save(signedIn(harness), replacing: 0)
        harness.clock.advance(by: .seconds(6))
        #expect(try await harness.token() == "Bearer outside")
        #expect(harness.requests == 0)
    }

    @Test func `after a 401, a credential from outside is replayed with`() async throws {
        let store = MemoryTokenStore()
        let harness = OAuthHarness(grant: .refreshToken(initial: nil), store: store)
        try await harness.manager.signIn(with: .refreshToken(Secret("initial")))
        harness.server.script(.respond(503, "", [:]))
        #expect(await harness.reject(1) == .passThrough(.refreshFailed))
        let record = signedIn(harness, revision: try #require(store.record).revision + 1)
        try store.save(record, replacing: record.revision - 1)
        harness.clock.advance(by: .seconds(61))
        #expect(await harness.reject(1) == .replay)
        #expect(try await harness.token() == "Bearer outside")
    }

    @Test func `a removed credential is an error and comes back`() async throws {
        let store = MemoryTokenStore()
        let harness = OAuthHarness(grant: .refreshToken(initial: nil), store: store)
        try await harness.manager.signIn(with: .refreshToken(Secret("initial")))
        #expect(try await harness.token() == "Bearer access-1")
        try await harness.manager.forget()
        #expect(await harness.failure()?.kind == .reauthorizationRequired)
        harness.server.admit(refreshToken: "again")
        try await harness.manager.signIn(with: .refreshToken(Secret("again")))
        #expect(try await harness.token() == "Bearer access-2")
    }

    private func signedIn(_ harness: OAuthHarness, revision: Int = 1) -> TokenRecord {
        var record = TokenRecord(authority: "client@https://login.example.com/token")
        record.revision = revision
        record.refreshToken = Secret("theirs")
        record.accessTokens["scope=read"] = TokenRecord.AccessToken(
            value: Secret("outside"),
            issuedAt: harness.clock.wallNow,
            expiresAt: harness.clock.wallNow + .seconds(3600),
            scope: "read"
        )
        return record
    }
}
