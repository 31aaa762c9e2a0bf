import NetworkCore
import OAuth
import TestSupport
import Testing

/// The tokens that count when a manager could not write its own, for each change of the store
/// meanwhile.
@Suite struct StoreReconciliationTests {
    enum Change: Sendable {
        case nothing
        case notes
        case olderToken
        case ourToken
        case anotherToken
        case signOut
        case anotherSeed
        case anotherClient
    }

    /// The record stored at the end.
    enum Stored: Sendable {
        case ours
        case theirs
        case nothing
    }

    // The manager has `refresh-2`; `refresh-1` is stored.
    @Test(
        arguments: [
            (.nothing, .ours, "refresh-2"),
            (.notes, .ours, "refresh-2"),
            // As after a restored copy of the file: the token belongs to another client.
            (.olderToken, .theirs, "initial"),
            (.ourToken, .theirs, "refresh-2"),
            (.anotherToken, .theirs, "somebody-else"),
            (.signOut, .nothing, "initial"),
            (.anotherSeed, .ours, "refresh-2"),
            // In memory they are good, but they do not replace other tokens.
            (.anotherClient, .theirs, "refresh-2"),
        ] as [(Change, Stored, String)]
    )
    func `the record that counts follows the table`(
        change: Change,
        stored: Stored,
        presented: String
    ) async throws {
        let store = WatchedStore()
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")), store: store)
        try await renewUnsaved(harness, store)
        try await apply(change, to: store)
        await harness.manager.writeAgain()
        #expect(await !harness.manager.status().isUnsaved)
        switch stored {
        case .ours: #expect(store.record?.accessTokens["theirs"] == nil)
        case .theirs: #expect(store.record?.accessTokens["theirs"] != nil)
        case .nothing: #expect(store.record?.signedOutAt != nil)
        }
        if stored == .ours { #expect(store.record?.refreshToken == Secret("refresh-2")) }
        harness.server.script(.unreachable)
        try? await harness.manager.forceRefresh()
        #expect(harness.server.requests.last?.form["refresh_token"] == presented)
    }

    /// Renews the first token; the result is not saved.
    private func renewUnsaved(_ harness: OAuthHarness, _ store: WatchedStore) async throws {
        _ = try await harness.token()
        harness.server.gate.close()
        async let verdict = harness.reject(1)
        #expect(await eventually { harness.server.gate.waiting == 1 })
        store.failsSaving = true
        harness.server.gate.open()
        #expect(await verdict == .replay)
        #expect(await harness.manager.status().isUnsaved)
        store.failsSaving = false
    }

    private func apply(_ change: Change, to store: WatchedStore) async throws {
        switch change {
        case .nothing: return
        case .signOut: return try store.signOut()
        default: break
        }
        try store.put { record in
            record.accessTokens["theirs"] = TokenRecord.AccessToken(
                value: Secret("theirs"),
                issuedAt: UnixTime(secondsSinceEpoch: 0),
                expiresAt: nil,
                scope: nil
            )
            switch change {
            case .nothing, .notes, .signOut: break
            case .olderToken: record.refreshToken = Secret("initial")
            case .ourToken: record.refreshToken = Secret("refresh-2")
            case .anotherToken: record.refreshToken = Secret("somebody-else")
            case .anotherSeed:
                record.refreshToken = Secret("somebody-else")
                record.seed = "another"
            case .anotherClient: record.authority = "other@https://login.example.com/token"
            }
        }
    }
}
