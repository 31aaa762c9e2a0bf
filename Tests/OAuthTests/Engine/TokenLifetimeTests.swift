import NetworkCore
import OAuth
import TestSupport
import Testing

@Suite struct TokenLifetimeTests {
    @Test func `a token is requested once and then used`() async throws {
        let harness = OAuthHarness()
        #expect(harness.manager.currentCredential() == nil)
        #expect(try await harness.token() == "Bearer access-1")
        for _ in 0..<10 { #expect(try await harness.token() == "Bearer access-1") }
        #expect(harness.requests == 1)
    }

    @Test func `concurrent callers share one token request`() async throws {
        let harness = OAuthHarness()
        harness.server.gate.close()
        async let tokens = withThrowingTaskGroup { group in
            for _ in 0..<100 { group.addTask { try await harness.token() } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(await eventually { await harness.manager.status().waiters == 100 })
        harness.server.gate.open()
        #expect(try await tokens == ["Bearer access-1"])
        #expect(harness.requests == 1)
    }

    @Test func `a token near its end is renewed while every request still uses it`()
        async throws
    {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.clock.advance(by: .seconds(3299))
        _ = try await harness.token()
        #expect(harness.requests == 1)
        harness.server.gate.close()
        harness.clock.advance(by: .seconds(2))
        for _ in 0..<5 { #expect(try await harness.token() == "Bearer access-1") }
        #expect(await eventually { harness.requests == 2 })
        #expect(try await harness.token() == "Bearer access-1")
        harness.server.gate.open()
        #expect(
            await eventually { harness.manager.currentCredential()?.generation == 2 }
        )
        #expect(harness.requests == 2)
    }

    @Test func `the advisory window is at most a fifth of the lifetime`() async throws {
        let harness = OAuthHarness()
        harness.server.setLifetime("300")
        _ = try await harness.token()
        // No request reads the token meanwhile: the check of the store would renew it.
        harness.clock.advance(by: .seconds(239))
        #expect(await harness.manager.status().state == .fresh)
        harness.clock.advance(by: .seconds(2))
        #expect(await harness.manager.status().state == .stale)
    }

    @Test func `callers wait for the successor when the end is near`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.clock.advance(by: .seconds(3580))
        #expect(harness.manager.currentCredential() == nil)
        #expect(try await harness.token() == "Bearer access-2")
    }

    @Test(arguments: [
        ("3600", 3_570_000), ("600", 570_000), ("100", 95_000), ("10", 9000), ("2", 1000),
        ("1", 500),
    ])
    func `callers wait in the last twentieth, which is a second to half a minute`(
        lifetime: String,
        milliseconds: Int
    ) async throws {
        let harness = OAuthHarness()
        harness.server.setLifetime(lifetime)
        _ = try await harness.token()
        harness.server.gate.close()
        harness.clock.advance(by: .milliseconds(milliseconds - 1))
        #expect(harness.manager.currentCredential() != nil)
        harness.clock.advance(by: .milliseconds(1))
        #expect(harness.manager.currentCredential() == nil)
        harness.server.gate.open()
    }

    @Test func `the lifetime counts from when the request was sent`() async throws {
        let harness = OAuthHarness()
        harness.server.setLifetime("100")
        harness.server.gate.close()
        async let first = harness.token()
        #expect(await eventually { harness.server.gate.waiting == 1 })
        harness.clock.advance(by: .seconds(9))
        harness.server.gate.open()
        _ = try await first
        #expect(await harness.manager.status().expiresIn == .seconds(91))
    }

    @Test func `a clock that is set back does not prolong a token`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.clock.setWall(by: .seconds(-86_400))
        harness.clock.advance(by: .seconds(3600))
        #expect(try await harness.token() == "Bearer access-2")
    }

    @Test func `a time of day that jumps ahead ends a token`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.clock.setWall(by: .seconds(7200))
        #expect(try await harness.token() == "Bearer access-2")
    }

    @Test func `a token without expires_in is used until it is refused`() async throws {
        let harness = OAuthHarness()
        harness.server.setLifetime("null")
        _ = try await harness.token()
        harness.clock.advance(by: .seconds(400 * 86_400))
        #expect(try await harness.token() == "Bearer access-1")
        #expect(await harness.reject(1) == .replay)
        #expect(try await harness.token() == "Bearer access-2")
    }

    @Test func `a configured lifetime takes the place of a missing one`() async throws {
        let harness = OAuthHarness { $0.defaultLifetime = .seconds(60) }
        harness.server.setLifetime("\"soon\"")
        _ = try await harness.token()
        #expect(await harness.manager.status().expiresIn == .seconds(60))
    }

    @Test func `a token that has expired on arrival serves those who waited for it and no others`()
        async throws
    {
        let harness = OAuthHarness()
        harness.server.setLifetime("0")
        #expect(try await harness.token() == "Bearer access-1")
        #expect(try await harness.store.load()?.accessTokens.isEmpty == true)
        #expect(try await harness.token() == "Bearer access-2")
    }

    @Test func `where an expires_in of zero means nothing the token is used on`() async throws {
        let harness = OAuthHarness { $0.zeroLifetime = .unknown }
        harness.server.setLifetime("0")
        for _ in 0..<2 { #expect(try await harness.token() == "Bearer access-1") }
        #expect(harness.requests == 1)
    }

    @Test func `a token for one use is the one that its replay is sent with`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.revokeAccess()
        harness.server.setLifetime("0")
        let (response, context) = try await harness.send()
        #expect(response.status == 200)
        #expect(context.authorization?.generation == 2)
        #expect(context.authorization?.isRefreshed == true)
        #expect(harness.requests == 2)
        // No other request gets it.
        #expect(try await harness.token() == "Bearer access-3")
    }

    @Test func `the time an exchange waited for tokens is reported, before it and after a 401`()
        async throws
    {
        let harness = OAuthHarness()
        for wait in [Duration?.some(.seconds(3)), nil, .seconds(2)] {
            if wait != nil { harness.server.gate.close() }
            if wait == .seconds(2) { harness.server.revokeAccess() }
            async let sent = harness.send()
            if let wait {
                #expect(await eventually { harness.server.gate.waiting == 1 })
                harness.clock.advance(by: wait)
                harness.server.gate.open()
            }
            #expect(try await sent.context.authorization?.wait == wait)
        }
    }

    @Test func `a lifetime shorter than the windows does not renew on every request`()
        async throws
    {
        let harness = OAuthHarness()
        harness.server.setLifetime("2")
        _ = try await harness.token()
        harness.clock.advance(by: .milliseconds(500))
        _ = try await harness.token()
        #expect(harness.requests == 1)
    }

    @Test func `the server's own hint moves the renewal forward`() async throws {
        let harness = OAuthHarness()
        harness.server.setExtra(#","refresh_in":600"#)
        _ = try await harness.token()
        harness.clock.advance(by: .seconds(601))
        #expect(try await harness.token() == "Bearer access-1")
        #expect(await eventually { harness.requests == 2 })
    }

    @Test func `the server's hint also applies to a token found in the store`() async throws {
        let first = OAuthHarness(store: MemoryTokenStore())
        first.server.setExtra(#","refresh_in":600"#)
        _ = try await first.token()
        first.clock.advance(by: .seconds(601))
        let second = OAuthHarness(clock: first.clock, server: first.server, store: first.store)
        #expect(try await second.token() == "Bearer access-1")
        #expect(try await second.token() == "Bearer access-1")
        #expect(await eventually { first.requests == 2 })
    }

    @Test func `a hint that comes too late is ignored`() async throws {
        let harness = OAuthHarness()
        harness.server.setExtra(#","refresh_in":3590"#)
        _ = try await harness.token()
        harness.clock.advance(by: .seconds(3301))
        #expect(try await harness.token() == "Bearer access-1")
        #expect(await eventually { harness.requests == 2 })
    }

    @Test func `a machine that slept past the end of a token does not send it`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        // This needs no timer: the deadline is compared when the token is read.
        harness.clock.setWall(by: .seconds(8 * 3600))
        #expect(harness.manager.currentCredential() == nil)
        #expect(try await harness.token() == "Bearer access-2")
    }

    @Test func `processes that started together do not renew together`() async throws {
        func staleAfter(_ jitter: Double) async throws -> Int {
            let clock = ManualClock()
            let server = AuthorizationServerModel(clock: clock)
            let manager = OAuthManager(
                service: TokenEndpointClient(transport: server, clock: clock),
                tokenStore: MemoryTokenStore(),
                configuration: OAuthHarness.configuration(.clientCredentials),
                clock: clock,
                jitter: { jitter }
            )
            _ = try await manager.credential(until: nil)
            var seconds = 0
            while await manager.status().state == .fresh {
                clock.advance(by: .seconds(1))
                seconds += 1
            }
            return seconds
        }
        #expect(try await staleAfter(0) == 3300)
        #expect(try await staleAfter(1) == 3330)
    }
}
