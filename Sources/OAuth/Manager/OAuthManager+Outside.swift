import NetworkCore

extension OAuthManager {
    /// How long nobody looks whether the store was changed from outside, while tokens are used.
    static var lookInterval: Duration { .seconds(10) }

    /// Looks whether somebody else changed what is stored.
    ///
    /// That is a sign-in or a sign-out by another tool, or a renewal by another process. Asks no
    /// server and takes no lock.
    func lookAround() async {
        let known = ledger.stored
        let begun = renewals
        let found: TokenRecord?
        do {
            found = try await store.load()
        } catch {
            // A file that makes no sense is for the next renewal, which has the lock.
            return lookAgainLater()
        }
        // Whatever this manager does meanwhile knows better.
        guard renewal == nil, renewals == begun, ledger.stored == known, !ledger.isUnsaved,
            ledger.isNews(found)
        else { return lookAgainLater() }
        takeOver(found)
        // Another process is about to renew, or has died of it: the server's grace runs, so this
        // one asks for the lock and sees.
        if ledger.record?.intent != nil { current?.windows?.advance(to: clock.moment) }
        lookAgainLater()
    }

    private func takeOver(_ found: TokenRecord?) {
        let before = ledger.record?.refreshToken
        guard learn(found) == .stored else { return }
        guard let found else {
            // Signed out elsewhere: what is here is not used any longer.
            dropToken()
            onEvent(.forgotten)
            return
        }
        guard adopt(for: .external) == nil, before != found.refreshToken,
            configuration.isOfConfiguredSeed(found),
            found.accessTokens[configuration.credentialKey]?.value != current?.token.value
        else { return }
        // Another person's refresh token, maybe: the token at hand has no successor.
        dropToken()
    }

    private func lookAgainLater() {
        nextLook = clock.moment + OAuthManager.lookInterval
        publish()
    }
}
