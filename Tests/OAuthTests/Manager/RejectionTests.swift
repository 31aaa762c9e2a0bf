import NetworkCore
import OAuth
import TestSupport
import Testing

@Suite struct RejectionTests {
    @Test func `a refused token is renewed and the request sent again`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.send()
        harness.server.revokeAccess()
        let (response, context) = try await harness.send()
        #expect(response.status == 200)
        #expect(context.retries == [.unauthorized])
        #expect(context.authorization?.isRefreshed == true)
        #expect(context.authorization?.generation == 2)
        #expect(harness.api.seen.map(\.status) == [200, 401, 200])
    }

    @Test func `a thousand requests on one dead token cost one token request and fail never`()
        async throws
    {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.revokeAccess()
        let statuses = try await withThrowingTaskGroup { group in
            var statuses: [Int] = []
            for _ in 0..<64 { group.addTask { try await harness.send().response.status.rawValue } }
            for _ in 64..<1000 {
                if let status = try await group.next() { statuses.append(status) }
                group.addTask { try await harness.send().response.status.rawValue }
            }
            for try await status in group { statuses.append(status) }
            return statuses
        }
        #expect(statuses.count == 1000)
        #expect(statuses.allSatisfy { $0 == 200 })
        #expect(harness.requests == 2)
    }

    @Test func `64 requests in flight refused together cost one token request`()
        async throws
    {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.revokeAccess()
        harness.api.gate.close()
        async let statuses = withThrowingTaskGroup { group in
            for _ in 0..<64 { group.addTask { try await harness.send().response.status.rawValue } }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(await eventually { harness.api.gate.waiting == 64 })
        harness.api.gate.open()
        #expect(try await statuses.allSatisfy { $0 == 200 })
        #expect(harness.requests == 2)
    }

    @Test func `a 401 on an older token replays at once and renews nothing`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        #expect(await harness.reject(1) == .replay)
        #expect(await harness.reject(1) == .replay)
        #expect(harness.requests == 2)
    }

    @Test func `new requests wait while a bad token is renewed`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.gate.close()
        async let verdict = harness.reject(1)
        #expect(await eventually { harness.requests == 2 })
        #expect(harness.manager.currentCredential() == nil)
        async let next = harness.token()
        #expect(await eventually { await harness.manager.status().waiters == 2 })
        harness.server.gate.open()
        #expect(try await next == "Bearer access-2")
        #expect(await verdict == .replay)
    }

    @Test func `new requests do not wait while a suspected token is renewed`()
        async throws
    {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.gate.close()
        async let verdict = harness.reject(1, challenge: nil)
        #expect(await eventually { harness.requests == 2 })
        #expect(harness.manager.currentCredential()?.generation == 1)
        #expect(try await harness.manager.credential(until: harness.clock.now).generation == 1)
        harness.server.gate.open()
        #expect(await verdict == .replay)
        #expect(try await harness.token() == "Bearer access-2")
    }

    @Test func `a suspicion ends with the next successful request`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.send()
        harness.server.script(.respond(503, "", [:]))
        #expect(await harness.reject(1, challenge: nil) == .passThrough(.refreshFailed))
        // A suspected token does not help against the 401 of an older one.
        #expect(await harness.reject(0, challenge: nil) == .passThrough(.refreshFailed))
        #expect(try await harness.send().response.status == 200)
        #expect(await eventually { await harness.reject(0, challenge: nil) == .replay })
        harness.clock.advance(by: .seconds(3580))
        #expect(try await harness.token() == "Bearer access-2")
        let reasons: [OAuthEvent.Reason] = harness.events.compactMap {
            if case .refreshed(_, let reason, _) = $0 { reason } else { nil }
        }
        #expect(reasons == [.initial, .expired])
    }

    @Test func `a suspicion that could not be cured does not end renewals in the background`()
        async throws
    {
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.script(.respond(503, "", [:]))
        #expect(await harness.reject(1, challenge: nil) == .passThrough(.refreshFailed))
        harness.clock.advance(by: .seconds(3301))
        #expect(try await harness.token() == "Bearer access-1")
        #expect(await eventually { harness.manager.currentCredential()?.generation == 2 })
        #expect(harness.requests == 3)
    }

    @Test(arguments: [
        (#"Bearer error="insufficient_scope""#, NotReplayed.insufficientScope),
        (#"Bearer error="invalid_request""#, .invalidRequest),
        (#"Bearer error="insufficient_user_authentication", acr_values="gold""#, .stepUpRequired),
        (#"Basic realm="api", Bearer error="insufficient_scope""#, .insufficientScope),
    ])
    func `a challenge that another token cannot meet renews nothing`(
        challenge: String,
        reason: NotReplayed
    ) async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        #expect(await harness.reject(1, challenge: challenge) == .passThrough(reason))
        #expect(harness.requests == 1)
    }

    @Test(arguments: [
        nil, "Bearer", #"Bearer realm="x", error="token_expired""#, #"Bearer error=""#,
        #"Basic realm="api""#, "Negotiate", "TFS-Federated", #"Bearer uri=https://a.example"#,
    ])
    func `a 401 that says nothing in particular renews once`(challenge: String?) async throws {
        let harness = OAuthHarness()
        _ = try await harness.token()
        #expect(await harness.reject(1, challenge: challenge) == .replay)
        #expect(harness.requests == 2)
    }

    @Test func `a second 401 is passed through and renews nothing for a while`() async throws {
        let harness = OAuthHarness()
        harness.api.refuseEverything()
        let (response, context) = try await harness.send()
        #expect(response.status == 401)
        #expect(context.authorization?.notReplayed?.rawValue == "already_replayed")
        #expect(harness.api.seen.count == 2)
        for _ in 0..<5 {
            let (_, context) = try await harness.send()
            #expect(context.authorization?.notReplayed?.rawValue == "token_refused_again")
        }
        #expect(harness.requests == 2)
    }

    @Test func `an upstream that refuses every token does not flood the token endpoint`()
        async throws
    {
        let harness = OAuthHarness()
        harness.api.refuseEverything()
        for _ in 0..<30 {
            _ = try await harness.send()
            harness.clock.advance(by: .seconds(1))
        }
        #expect(harness.requests <= 5)
    }

    @Test func `too many renewals in a short time pass the 401 on and keep the channel`()
        async throws
    {
        let harness = OAuthHarness()
        _ = try await harness.token()
        for generation in 1...5 { #expect(await harness.reject(generation) == .replay) }
        #expect(await harness.reject(6) == .passThrough(.excess))
        #expect(harness.requests == 6)
        // An endpoint that refuses every token must not affect the other endpoints.
        #expect(try await harness.token() == "Bearer access-6")
        #expect(await harness.reject(6) == .passThrough(.excess))
        #expect(harness.requests == 6)
        harness.clock.advance(by: .seconds(31))
        #expect(try await harness.token() == "Bearer access-7")
    }

    @Test func `the same token again does not count as progress`() async throws {
        let harness = OAuthHarness()
        harness.server.setFixedToken("same")
        _ = try await harness.token()
        #expect(await harness.reject(1) == .passThrough(.sameToken))
        #expect(await harness.reject(1) == .passThrough(.tokenRefusedAgain))
        #expect(harness.requests == 2)
    }

    @Test func `a renewal that fails gives the app the upstream's own 401`() async throws {
        let harness = OAuthHarness()
        _ = try await harness.send()
        harness.server.revokeAccess()
        harness.server.script(.respond(503, "", [:]))
        let (response, context) = try await harness.send()
        #expect(response.status == 401)
        #expect(response.headers[.wwwAuthenticate] != nil)
        #expect(try await response.body.collect(upTo: 100) == ByteSlice("go away"))
        #expect(context.authorization?.notReplayed?.rawValue == "refresh_failed")
        #expect(context.retries.isEmpty)
        #expect(await harness.failure()?.kind == .credentialUnavailable)
    }

    @Test func `a dead refresh token gives this app the 401 and the next one the reason`()
        async throws
    {
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")))
        _ = try await harness.send()
        harness.server.revokeAll()
        let (response, context) = try await harness.send()
        #expect(response.status == 401)
        #expect(context.authorization?.notReplayed?.rawValue == "reauthorization_required")
        #expect(await harness.failure()?.kind == .reauthorizationRequired)
        #expect(harness.manager.isSignedIn == false)
    }

    @Test func `403 renews nothing`() async throws {
        let harness = OAuthHarness()
        let chain = RequestChain(
            [
                ReauthorizationInterceptor(authorizer: harness.manager),
                AuthorizationInterceptor(
                    authorizer: harness.manager,
                    origins: [OAuthHarness.apiOrigin]
                ),
            ],
            transport: FixedAnswer(status: 403)
        )
        var context = RequestContext()
        let response = try await chain.send(
            Request(origin: OAuthHarness.apiOrigin, target: "/"),
            context: &context
        )
        #expect(response.status == 403)
        #expect(harness.requests == 1)
    }
}

/// Gives every request the same response.
struct FixedAnswer: HTTPTransport {
    let status: HTTPStatus

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        Response(status: status)
    }
}
