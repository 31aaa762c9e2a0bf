import NetworkCore
import Synchronization
import TestSupport
import Testing

@testable import OAuth

@Suite struct RenewalBackoffTests {
    @Test func `a failing token endpoint stays invisible while the token lives`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.script(.unreachable, .respond(500, "", [:]))
        harness.clock.advance(by: .seconds(3400))
        #expect(try await harness.token() == "Bearer access-1")
        #expect(await eventually { await harness.manager.status().lastFailure != nil })
        #expect(try await harness.token() == "Bearer access-1")
        // In the mandatory window callers wait for the attempt, and still get the living token.
        harness.clock.advance(by: .seconds(180))
        #expect(try await harness.token() == "Bearer access-1")
        #expect(harness.requests == 3)
    }

    @Test func `a token is not sent after its end`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.script(.unreachable)
        harness.clock.advance(by: .seconds(3601))
        let error = await harness.failure()
        #expect(error?.kind == .credentialUnavailable)
        #expect(error?.retryAfter == 1)
        #expect(error?.detail.contains("cannot be reached") == true)
    }

    @Test func `a failure is everybody's until the back-off ends`() async throws {
        let harness = OAuthHarness()
        harness.server.script(.unreachable)
        for _ in 0..<20 { #expect(await harness.failure()?.kind == .credentialUnavailable) }
        #expect(harness.requests == 1)
        harness.clock.advance(by: .seconds(1))
        #expect(try await harness.token() == "Bearer access-1")
    }

    @Test func `the reported wait is the real one`() async throws {
        let told = OAuthHarness.EventLog()
        let server = AuthorizationServerModel(clock: ManualClock())
        server.script(.unreachable)
        let manager = OAuthManager(
            service: TokenEndpointClient(transport: server, clock: RunningClock()),
            tokenStore: MemoryTokenStore(),
            configuration: OAuthHarness.configuration(.clientCredentials),
            clock: RunningClock(),
            jitter: { 0 },
            onEvent: { told.append($0) }
        )
        await #expect(throws: NetworkError.self) { try await manager.credential(until: nil) }
        guard case .failed(let failure) = told.all.first, let next = failure.nextAttempt else {
            Issue.record("expected a failure with a next attempt, found \(told.all)")
            return
        }
        #expect(next - failure.at == .seconds(1))
    }

    @Test func `everybody who waits gets the failure`() async throws {
        let harness = OAuthHarness()
        harness.server.gate.close()
        harness.server.script(.respond(503, "", [:]))
        let callers = (0..<10).map { _ in Task { await harness.failure()?.kind } }
        #expect(await eventually { await harness.manager.status().waiters == 10 })
        harness.server.gate.open()
        for caller in callers { #expect(await caller.value == .credentialUnavailable) }
        #expect(harness.requests == 1)
    }

    @Test func `Retry-After in seconds is honoured`() async throws {
        let harness = OAuthHarness()
        harness.server.script(.respond(429, "", [.retryAfter: "42"]))
        #expect(await harness.failure()?.retryAfter == 42)
        harness.clock.advance(by: .seconds(41))
        #expect(await harness.failure()?.retryAfter == 1)
        harness.clock.advance(by: .seconds(1))
        #expect(try await harness.token() == "Bearer access-1")
    }

    @Test func `a Retry-After of nothing does not shorten the back-off`() async {
        let harness = OAuthHarness()
        harness.server.script(.respond(503, "", [.retryAfter: "0"]))
        #expect(await harness.failure()?.retryAfter == 1)
        #expect(harness.requests == 1)
    }

    @Test func `Retry-After as a date counts from the server's own clock, and is capped`()
        async throws
    {
        let harness = OAuthHarness()
        harness.server.script(
            .respond(
                503,
                "",
                [
                    .date: "Sun, 06 Nov 1994 08:49:37 GMT",
                    .retryAfter: "Sun, 06 Nov 1994 08:50:07 GMT",
                ]
            ),
            .respond(503, "", [.retryAfter: "86400"])
        )
        #expect(await harness.failure()?.retryAfter == 30)
        harness.clock.advance(by: .seconds(30))
        #expect(await harness.failure()?.retryAfter == 300)
    }

    @Test(arguments: [
        (400, #"{"error":"invalid_grant"}"#), (400, #"{"error":"invalid_grant","extra":[1]}"#),
        (401, #"{"error":"invalid_grant"}"#), (200, #"{"error":"invalid_grant"}"#),
        (400, #"{"error":["invalid_grant"]}"#), (400, #"{"status":"BAD_REFRESH_TOKEN"}"#),
    ])
    func `invalid_grant, or a provider's own word for it, is dead`(status: Int, body: String)
        async throws
    {
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")))
        harness.server.script(.respond(status, body, [:]))
        #expect(await harness.failure()?.kind == .reauthorizationRequired)
    }

    @Test(arguments: [
        (400, #"{"error":"invalid_grant_type"}"#), (400, "invalid_grant"),
        (400, #"{"error":"invalid_request","error_description":"invalid_grant"}"#),
        (400, #"{"error":["invalid_scope"]}"#), (400, ""), (401, ""), (403, "<html>"),
        (302, ""), (400, #"{"error":"invalid_client"}"#),
    ])
    func `anything else is not dead, and the refresh token is kept`(
        status: Int,
        body: String
    ) async throws {
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")))
        harness.server.script(.respond(status, body, [:]))
        #expect(await harness.failure()?.kind == .credentialUnavailable)
        harness.clock.advance(by: .seconds(61))
        #expect(try await harness.token() == "Bearer access-1")
    }

    @Test func `a configuration fault is retried rarely`() async throws {
        let harness = OAuthHarness()
        let body = #"{"error":"invalid_client","error_description":"unknown client"}"#
        harness.server.script(.respond(401, body, [:]))
        let error = await harness.failure()
        #expect(error?.retryAfter == 60)
        #expect(error?.detail.contains("invalid_client: unknown client") == true)
    }

    @Test func `a configuration fault is retried more and more rarely`() async throws {
        let harness = OAuthHarness()
        let body = #"{"error":"invalid_client"}"#
        for wait in [60, 120, 240, 480, 600, 600] {
            harness.server.script(.respond(401, body, [:]))
            #expect(await harness.failure()?.retryAfter == wait)
            harness.clock.advance(by: .seconds(wait))
        }
        // One success resets the delay.
        _ = try await harness.token()
        harness.clock.advance(by: .seconds(3600))
        harness.server.script(.respond(401, body, [:]))
        #expect(await harness.failure()?.retryAfter == 60)
    }

    @Test(
        arguments: [
            .unreachable, .respond(500, "", [:]), .respond(404, "<html>", [:]),
            .respond(403, #"{"message":"Forbidden"}"#, [:]),
            .respond(503, #"{"error":"temporarily_unavailable"}"#, [:]),
        ] as [AuthorizationServerModel.Mishap]
    )
    func `while requests wait, an unreachable server gets another request within eight seconds`(
        mishap: AuthorizationServerModel.Mishap
    ) async throws {
        let harness = OAuthHarness(jitter: 1)
        for wait in [1, 2, 4, 8, 8, 8] {
            harness.server.script(mishap)
            #expect(await harness.failure()?.retryAfter == wait)
            harness.clock.advance(by: .seconds(wait))
        }
        #expect(try await harness.token() == "Bearer access-1")
    }

    /// Otherwise a repaired token endpoint would not be used until a renewal in the background is due.
    @Test func `only renewals in the background wait for more than eight seconds`() {
        var backoff = RenewalBackoff()
        let clock = ManualClock()
        for _ in 1...7 {
            _ = backoff.fail(
                TokenFailure(.transient, detail: "away"),
                as: .transient,
                retryAfterLimit: .seconds(300),
                jitter: 1,
                at: clock.moment
            )
        }
        let later = clock.moment + .seconds(9)
        #expect(backoff.refusal(at: later) == nil)
        #expect(backoff.isQuiet(at: later))
        #expect(!backoff.isQuiet(at: clock.moment + .seconds(61)))
    }

    @Test func `a doubt that comes after a refusal does not make the token good again`()
        async throws
    {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.script(.unreachable)
        #expect(await harness.reject(1) == .passThrough(.refreshFailed))
        #expect(await harness.reject(1, challenge: nil) == .passThrough(.refreshFailed))
        #expect(await harness.failure()?.kind == .credentialUnavailable)
    }

    @Test func `a token refused at its replay is not renewed for ten seconds`()
        async throws
    {
        let harness = OAuthHarness()
        _ = try await harness.token()
        #expect(await harness.reject(1, intent: .afterReplay) == .passThrough(.alreadyReplayed))
        harness.clock.advance(by: .seconds(9))
        #expect(await harness.reject(1) == .passThrough(.tokenRefusedAgain))
        harness.clock.advance(by: .seconds(1))
        #expect(await harness.reject(1) == .replay)
    }

    @Test func `a server that gives the same token again is left alone for a minute`() async throws
    {
        let harness = OAuthHarness()
        harness.server.setFixedToken("same")
        harness.server.setLifetime("50")
        _ = try await harness.token()
        harness.clock.advance(by: .seconds(41))
        _ = try await harness.token()
        #expect(await eventually { harness.requests == 2 })
        #expect(await eventually { await harness.manager.status().state == .fresh })
        // Another token would be renewed by now.
        harness.clock.advance(by: .seconds(41))
        #expect(await harness.manager.status().state == .fresh)
    }

    @Test func `a refused token that the server returns again is renewed after ten seconds`()
        async throws
    {
        let harness = OAuthHarness()
        harness.server.setFixedToken("same")
        _ = try await harness.token()
        #expect(await harness.reject(1) == .passThrough(.sameToken))
        harness.clock.advance(by: .seconds(9))
        #expect(await harness.reject(1) == .passThrough(.tokenRefusedAgain))
        #expect(harness.requests == 2)
        harness.clock.advance(by: .seconds(1))
        #expect(await harness.reject(1) == .passThrough(.sameToken))
        #expect(harness.requests == 3)
    }

    @Test func `a dead credential is not presented again`() async throws {
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")))
        harness.server.revokeAll()
        for _ in 0..<50 {
            #expect(await harness.failure()?.kind == .reauthorizationRequired)
            harness.clock.advance(by: .seconds(7))
        }
        #expect(harness.requests == 1)
        let deaths = harness.events.filter { if case .dead = $0 { true } else { false } }
        #expect(deaths.count == 1)
    }

    @Test func `a second 401 soon after a death takes no store lock`() async throws {
        let store = WatchedStore()
        let harness = OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            store: store
        )
        _ = try await harness.token()
        harness.server.revokeAll()
        #expect(await harness.reject(1) == .passThrough(.reauthorizationRequired))
        // The next caller that takes the lock removes the door from the store.
        let door = Door()
        store.door = door
        harness.clock.advance(by: .seconds(4))
        #expect(await harness.reject(1) == .passThrough(.reauthorizationRequired))
        #expect(store.door === door)
        harness.clock.advance(by: .seconds(1))
        #expect(await harness.reject(1) == .passThrough(.reauthorizationRequired))
        #expect(store.door == nil)
    }

    @Test func `a dead refresh token is not noticed until the access token ends`() async throws {
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")))
        _ = try await harness.token()
        harness.server.script(.respond(400, #"{"error":"invalid_grant"}"#, [:]))
        harness.clock.advance(by: .seconds(3400))
        #expect(try await harness.token() == "Bearer access-1")
        #expect(
            await eventually {
                harness.events.contains { if case .dead = $0 { true } else { false } }
            }
        )
        #expect(harness.manager.isSignedIn)
        #expect(try await harness.token() == "Bearer access-1")
        harness.clock.advance(by: .seconds(201))
        #expect(!harness.manager.isSignedIn)
        #expect(await harness.failure()?.kind == .reauthorizationRequired)
    }

    @Test func `a death takes the place of the failure before it`() async throws {
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")))
        harness.server.script(.respond(503, "", [.retryAfter: "100"]))
        #expect(await harness.failure()?.kind == .credentialUnavailable)
        harness.server.revokeAll()
        await #expect(throws: NetworkError.self) { try await harness.manager.forceRefresh() }
        harness.clock.advance(by: .seconds(6))
        #expect(await harness.failure()?.kind == .reauthorizationRequired)
    }

    @Test func `without a refresh token a person must sign in`() async throws {
        let harness = OAuthHarness(grant: .refreshToken(initial: nil))
        let error = await harness.failure()
        #expect(error?.kind == .reauthorizationRequired)
        #expect(error?.detail.contains("sign in") == true)
        #expect(harness.requests == 0)
    }

    @Test func `a sign-in that fails does not cost waiting requests their token`() async throws {
        let harness = OAuthHarness()
        harness.server.gate.close()
        harness.server.script(.respond(400, #"{"error":"invalid_grant"}"#, [:]))
        let code = TokenGrant.authorizationCode(Secret("c"), redirect: "r", verifier: Secret("v"))
        let signIn = Task { try await harness.manager.signIn(with: code) }
        #expect(await eventually { harness.server.gate.waiting == 1 })
        let caller = Task { try await harness.token() }
        #expect(await eventually { await harness.manager.status().waiters == 2 })
        harness.server.gate.open()
        await #expect(throws: NetworkError.self) { try await signIn.value }
        #expect(try await caller.value == "Bearer access-1")
    }

    @Test func `a forced renewal does not wait for the back-off`() async throws {
        let harness = OAuthHarness()
        harness.server.script(.unreachable)
        _ = await harness.failure()
        try await harness.manager.forceRefresh()
        #expect(try await harness.token() == "Bearer access-1")
        try await harness.manager.forceRefresh()
        #expect(try await harness.token() == "Bearer access-2")
    }

    @Test func `forgotten tokens are not used`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        try await harness.manager.forget()
        #expect(harness.manager.currentCredential() == nil)
        #expect(try await harness.store.load()?.accessTokens.isEmpty == true)
        #expect(try await harness.token() == "Bearer access-2")
    }

    @Test func `the server's message reaches the user`() async throws {
        let harness = OAuthHarness()
        harness.server.script(
            .respond(401, #"{"error":"invalid_client","error_description":"no such app"}"#, [:])
        )
        let error = await harness.failure()
        #expect(error?.detail.contains("invalid_client: no such app") == true)
        let failure = try #require(await harness.manager.status().lastFailure)
        #expect(failure.serverError == "invalid_client")
        #expect(failure.kind == "configuration")
    }
}

/// A clock that moves with each reading, like a real one.
private final class RunningClock: NetworkClock {
    private let looks = Mutex(0)
    private let start = ContinuousClock.now

    private func look() -> Duration {
        looks.withLock {
            $0 += 1
            return .milliseconds($0)
        }
    }

    var now: ContinuousClock.Instant { start + look() }
    var wallNow: UnixTime { UnixTime(secondsSinceEpoch: 1_800_000_000) + look() }
    func sleep(until deadline: ContinuousClock.Instant) async throws {}
}
