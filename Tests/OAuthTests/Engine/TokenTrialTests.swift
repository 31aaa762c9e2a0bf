import NetworkCore
import Synchronization
import TestSupport
import Testing

@testable import OAuth

/// A storm of 401s, and a new token that may end it.
@Suite struct TokenTrialTests {
    /// Refuses the first token for 32 concurrent requests.
    private func storm(
        _ harness: OAuthHarness,
        meanwhile: () async -> Void,
        behindTheFirst: () -> Void = {}
    ) async throws -> [(status: Int, reason: String?)] {
        _ = try await harness.token()
        harness.server.revokeAccess()
        behindTheFirst()
        harness.api.gate.close()
        harness.server.gate.close()
        async let answers = withThrowingTaskGroup { group in
            for _ in 0..<32 {
                group.addTask {
                    let (response, context) = try await harness.send()
                    return (response.status.rawValue, context.authorization?.notReplayed?.rawValue)
                }
            }
            return try await group.reduce(into: [(Int, String?)]()) { $0.append($1) }
        }
        #expect(await eventually { harness.api.gate.waiting == 32 })
        harness.api.gate.open()
        #expect(await eventually { await harness.manager.status().waiters == 32 })
        harness.api.gate.close()
        harness.server.gate.open()
        await meanwhile()
        return try await answers
    }

    @Test func `one request tries the new token before all others follow`() async throws {
        let harness = OAuthHarness()
        let answers = try await storm(harness) {
            #expect(await eventually { harness.api.gate.waiting == 1 })
            #expect(harness.manager.currentCredential() == nil)
            harness.api.gate.open()
        }
        #expect(answers.allSatisfy { $0.status == 200 })
        #expect(harness.requests == 2)
    }

    @Test func `a token forgotten during its trial goes to no other request`()
        async throws
    {
        let harness = OAuthHarness()
        let answers = try await storm(harness) {
            #expect(await eventually { harness.api.gate.waiting == 1 })
            try? await harness.manager.forget()
            harness.api.gate.open()
        }
        #expect(answers.allSatisfy { $0.status == 200 })
        // The first token, the tried one, and its successor.
        #expect(harness.requests == 3)
    }

    @Test func `a token for one use serves the replays that waited for it`() async throws {
        let harness = OAuthHarness()
        let answers = try await storm(harness) {
            #expect(await eventually { harness.api.gate.waiting == 1 })
            harness.api.gate.open()
        } behindTheFirst: {
            harness.server.setLifetime("0")
        }
        #expect(answers.allSatisfy { $0.status == 200 })
        #expect(harness.requests == 2)
    }

    @Test func `another refused token costs one request and not a second storm`()
        async throws
    {
        let harness = OAuthHarness()
        harness.api.refuseEverything()
        let answers = try await storm(harness) {
            #expect(await eventually { harness.api.gate.waiting == 1 })
            harness.api.gate.open()
        }
        #expect(answers.allSatisfy { $0.status == 401 })
        #expect(answers.filter { $0.reason == "token_refused_again" }.count == 31)
        #expect(harness.api.seen.count == 33)
        #expect(harness.requests == 2)
    }

    @Test func `a first request that does not come back keeps the others for two seconds`()
        async throws
    {
        let harness = OAuthHarness()
        let answers = try await storm(harness) {
            #expect(await eventually { harness.api.gate.waiting == 1 })
            harness.clock.advance(by: .seconds(2))
            #expect(await eventually { harness.api.gate.waiting == 32 })
            harness.api.gate.open()
        }
        #expect(answers.allSatisfy { $0.status == 200 })
    }

    @Test func `a new request waits with the others while the token is tried`() async throws {
        let harness = OAuthHarness()
        let answers = try await storm(harness) {
            #expect(await eventually { harness.api.gate.waiting == 1 })
            let late = Task { try await harness.send().response.status.rawValue }
            // It is not sent before the first one's response arrives.
            #expect(await eventually { harness.clock.sleepers >= 2 })
            #expect(harness.api.gate.waiting == 1)
            harness.api.gate.open()
            #expect(await (try? late.value) == 200)
        }
        #expect(answers.allSatisfy { $0.status == 200 })
        #expect(harness.requests == 2)
    }

    /// Makes callers wait for the token after the first one, and returns the caller that tries it.
    private func newcomers(
        _ count: Int,
        _ harness: OAuthHarness,
        _ results: Results
    ) async throws -> Credential {
        _ = try await harness.token()
        harness.server.revokeAccess()
        harness.server.gate.close()
        _ = await harness.reject(1, intent: .report(.bodyNotReplayable))
        for _ in 0..<count {
            Task { results.add(await Result { try await harness.manager.credential(until: nil) }) }
        }
        #expect(await eventually { await harness.manager.status().waiters == count })
        harness.server.gate.open()
        #expect(await eventually { results.all.count == 1 })
        harness.server.gate.close()
        return try results.all[0].get()
    }

    /// The result of each caller, in order.
    private final class Results: Sendable {
        private let state = Mutex<[Result<Credential, any Error>]>([])
        var all: [Result<Credential, any Error>] { state.withLock { $0 } }
        func add(_ result: Result<Credential, any Error>) { state.withLock { $0.append(result) } }
    }

    @Test func `new requests wait for the next token if the tried one is refused`()
        async throws
    {
        let harness = OAuthHarness()
        let results = Results()
        #expect(try await newcomers(12, harness, results).generation == 2)
        let replay = Task { await harness.reject(2) }
        #expect(await eventually { harness.server.gate.waiting == 1 })
        // They have no result yet.
        #expect(await eventually { await harness.manager.status().waiters == 12 })
        harness.server.gate.open()
        #expect(await replay.value == .replay)
        let third = try await harness.manager.credential(until: nil)
        #expect(third.generation == 3)
        harness.manager.accepted(third)
        #expect(await eventually { results.all.count == 12 })
        #expect(try results.all.dropFirst().allSatisfy { try $0.get().generation == 3 })
        #expect(harness.requests == 3)
    }

    /// The verdict on each replay, in order.
    private final class Verdicts: Sendable {
        private let state = Mutex<[Verdict]>([])
        var all: [Verdict] { state.withLock { $0 } }
        func add(_ verdict: Verdict) { state.withLock { $0.append(verdict) } }
    }

    /// Makes twelve replays wait for the token after the first one.
    private func replays(_ harness: OAuthHarness) async throws -> Verdicts {
        let verdicts = Verdicts()
        _ = try await harness.token()
        harness.server.gate.close()
        for _ in 0..<12 { Task { verdicts.add(await harness.reject(1)) } }
        #expect(await eventually { await harness.manager.status().waiters == 12 })
        return verdicts
    }

    @Test(
        arguments: [
            (nil, .replay), ("Bearer", .replay), (#"Bearer error="insufficient_scope""#, .replay),
            (#"Bearer error="invalid_request""#, .replay), (#"Basic realm="api""#, .replay),
            (#"Bearer error="invalid_token""#, .passThrough(.tokenRefusedAgain)),
        ] as [(String?, Verdict)]
    )
    func `the first response ends the trial, and only invalid_token keeps the others back`(
        challenge: String?,
        others: Verdict
    ) async throws {
        let harness = OAuthHarness()
        let verdicts = try await replays(harness)
        harness.server.gate.open()
        #expect(await eventually { verdicts.all == [.replay] })
        #expect(try await harness.manager.credential(until: nil).generation == 2)
        _ = await harness.reject(2, challenge: challenge, intent: .afterReplay)
        // The clock stands still: no request waits for the end of the trial's two seconds.
        #expect(await eventually { verdicts.all.count == 12 })
        #expect(verdicts.all.dropFirst().allSatisfy { $0 == others })
        #expect(harness.requests == 2)
    }

    @Test func `a new token that has served already is not tried`() async throws {
        let harness = OAuthHarness()
        let verdicts = try await replays(harness)
        harness.onEvent { [manager = harness.manager] event in
            // A fast request that got it before the waiting requests did.
            if case .refreshed = event { _ = manager.currentCredential()?.prove() }
        }
        harness.server.gate.open()
        #expect(await eventually { verdicts.all.count == 12 })
        #expect(verdicts.all.allSatisfy { $0 == .replay })
        harness.onEvent(nil)
    }

    @Test func `new requests after a refused token wait no longer than they may`() async throws {
        let harness = OAuthHarness()
        let results = Results()
        _ = try await newcomers(12, harness, results)
        let replay = Task { await harness.reject(2) }
        #expect(await eventually { await harness.manager.status().waiters == 12 })
        harness.clock.advance(by: .seconds(15))
        #expect(await replay.value == .passThrough(.waitTimeout))
        #expect(await eventually { results.all.count == 12 })
        for result in results.all.dropFirst() {
            let error = #expect(throws: NetworkError.self) { try result.get() }
            #expect(error?.kind == .credentialUnavailable)
        }
        harness.server.gate.open()
    }
}

extension Result where Failure == any Error {
    /// The result of an operation.
    fileprivate init(_ operation: () async throws -> Success) async {
        do { self = .success(try await operation()) } catch { self = .failure(error) }
    }
}
