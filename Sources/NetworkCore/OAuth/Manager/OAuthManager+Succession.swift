extension OAuthManager {
    /// Takes the place of a manager of the same tokens; called before anybody asks this one.
    ///
    /// What the other could not write comes along with the next look into the store: nobody else has
    /// it, and the older refresh token that is stored would end the family.
    package func succeed(_ other: OAuthManager) {
        predecessor = other
    }

    /// Takes over what the manager before could not write, under the lock: a renewal of its own has
    /// come to its end by then.
    func inherit() async {
        guard let other = predecessor else { return }
        predecessor = nil
        guard other.configuration.authority == configuration.authority,
            let (left, found) = await other.leave()
        else { return }
        guard isOfConfiguredSeed(left) else { return }
        record = left
        stored = found
        isUnsaved = true
        writeLater()
    }

    /// Gives away what could not be written, and from then on presents nothing: the successor may
    /// have replaced it.
    private func leave() async -> (TokenRecord, StoredState)? {
        await inherit()
        guard isUnsaved, let record else { return nil }
        isUnsaved = false
        hasLeft = true
        return (record, stored)
    }

    /// What a renewal comes to behind `leave()`.
    func failBehindSuccessor() -> WaitingRoom.Outcome {
        fail(TokenFailure(.transient, detail: "a reload has given the tokens to another manager"))
    }
}
