extension OAuthManager {
    /// How long nobody looks whether the store was changed from outside, while tokens are used.
    static var lookInterval: Duration { .seconds(10) }

    /// Looks whether somebody else changed what is stored.
    ///
    /// That is a sign-in or a sign-out by another tool, or a renewal by another process. Asks no
    /// server and takes no lock.
    func lookAround() async {
        let known = stored
        let begun = renewals
        let found: TokenRecord?
        do {
            found = try await store.load()
        } catch {
            // A file that makes no sense is for the next renewal, which has the lock.
            return lookAgainLater()
        }
        // Whatever this manager does meanwhile knows better.
        guard renewal == nil, renewals == begun, stored == known, !isUnsaved,
            !StoredState(found, authority: configuration.authority).isSame(as: known)
        else { return lookAgainLater() }
        takeOver(found)
        // Another process is about to renew, or has died of it: the server's grace runs, so this
        // one asks for the lock and sees.
        if record?.intent != nil { current?.windows?.advance(to: clock.moment) }
        lookAgainLater()
    }

    private func takeOver(_ found: TokenRecord?) {
        let before = record?.refreshToken
        guard learn(found) == .stored else { return }
        guard let found else {
            // Signed out elsewhere: what is here is not used any longer.
            dropToken()
            onEvent(.forgotten)
            return
        }
        guard adopt(for: .external) == nil, before != found.refreshToken,
            isOfConfiguredSeed(found),
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
