import NetworkCore

extension OAuthManager {
    /// Forgets the tokens here and in the store.
    ///
    /// The next request starts over: with the client's credentials, or with the refresh token of
    /// the configuration, if there is one. What is forgotten is no token for requests that come
    /// meanwhile: they wait for the end.
    ///
    /// - Throws: `NetworkError` of kind `.cancelled`; `TokenStoreError` if the store keeps them: here
    ///   they are forgotten all the same, until the process ends or somebody stores others.
    public func forget() async throws {
        try await waitForRenewal()
        let removal = Task { try await forgetAll() }
        // In a renewal's place, so that none takes back what is still stored.
        let place = occupy(.forced) { _ in
            _ = await removal.result
            return .idle
        }
        await place.task.value
        try await removal.value
    }

    private func forgetAll() async throws {
        // What the manager before holds would come back with the next look into the store.
        try await inherit(under: nil)
        forgetHere()
        onEvent(.forgotten)
        // A rewrite that was under way may have read the store, and a renewal that was given up may
        // have got its tokens after all.
        defer {
            if current != nil { dropToken() }
            forgetRecord()
        }
        do {
            try await removeStored()
            ledger.noteRemoval()
        } catch {
            await disregardStored()
            throw error
        }
    }

    private func forgetHere() {
        dropToken()
        trouble.clear()
        rewrite?.cancel()
        rewrite = nil
        forgetRecord()
    }

    private func forgetRecord() {
        ledger.forget()
        publish()
    }

    private func removeStored() async throws {
        let lock = try await store.lock(
            until: clock.now + Renewal.lockTimeout(configuration),
            clock: clock
        )
        defer { lock.release() }
        if let found = try await store.soundRecord(under: lock) {
            try await store.remove(revision: found.revision)
        }
    }

    /// Notes what the store goes on to hold, so that it is not taken for news.
    private func disregardStored() async {
        do {
            ledger.disregard(try await store.load())
        } catch {
            // Then it is what was seen last.
            onEvent(.storeFailed(detail: OAuthManager.words(error)))
            ledger.disregardStored()
        }
    }
}
