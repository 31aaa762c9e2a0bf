import NetworkCore

extension OAuthManager {
    /// Takes the place of a manager of the same tokens; called before anybody asks this one.
    ///
    /// What the other could not write comes along with the next look into the store: nobody else has
    /// it, and the older refresh token that is stored would end the family.
    package func succeed(_ other: OAuthManager) {
        predecessor = other
    }

    /// Whether both are for the tokens of one client at one server.
    package nonisolated func hasTokens(of other: OAuthManager) -> Bool {
        configuration.authority == other.configuration.authority
    }

    /// Whether nothing would be lost with the manager: no renewal is under way, and all is written.
    package var isSettled: Bool { renewal == nil && !ledger.isUnsaved }

    /// Takes over what the manager before could not write.
    ///
    /// - Parameter lock: the store's, under which no renewal of the other's is under way; without it
    ///   the end of one is waited for.
    /// - Throws: `NetworkError` of kind `.cancelled`.
    func inherit(under lock: TokenStoreLock?) async throws {
        guard let other = predecessor else { return }
        let isSame = other.configuration.authority == configuration.authority
        let left = isSame ? try await other.leave(under: lock) : nil
        predecessor = nil
        guard let (left, found) = left, configuration.isOfConfiguredSeed(left) else { return }
        ledger.take((left, found))
        writeLater()
    }

    /// Gives away what could not be written, and from then on presents nothing: the successor may
    /// have replaced it.
    private func leave(under lock: TokenStoreLock?) async throws -> (TokenRecord, StoredState)? {
        try await inherit(under: lock)
        // Where nothing can be written there may be no lock either, and an answer on its way.
        if lock == nil { try await waitForRenewal() }
        guard let unsaved = ledger.giveAway() else { return nil }
        hasLeft = true
        return unsaved
    }

    /// What a renewal comes to behind `leave(under:)`.
    func failBehindSuccessor() -> WaitingRoom.Outcome {
        fail(TokenFailure(.transient, detail: "a reload has given the tokens to another manager"))
    }
}
