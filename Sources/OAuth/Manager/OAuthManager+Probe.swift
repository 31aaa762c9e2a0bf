public import NetworkCore

/// A new token that one request tries before all those that wait for it.
///
/// After a storm of 401s a fresh token that is refused as well would bring a second storm.
struct Probe {
    /// Up to so many waiters go at once: they are no storm.
    static let threshold = 8
    /// How long the others wait for the first one's answer.
    static let patience = Duration.seconds(2)

    let generation: Int
    let credential: Credential
    let room: WaitingRoom
    let watchdog: Task<Void, Never>
    /// Whether nobody has been given the token yet: a replay that is let go comes back for it.
    var isUntaken = true

    /// What the first request found.
    enum Finding {
        case accepted, refused
        /// It has not come back, or what it got says nothing of the token.
        case nothing
    }
}

extension OAuthManager {
    /// Lets one waiter go with the new token; the rest follows when it is known to be good.
    func probe(_ credential: Credential, _ room: WaitingRoom) {
        let generation = generation
        let end = clock.now + Probe.patience
        // The manager's own: bounds the wait of everybody for the one.
        let watchdog = Task { [clock] in
            do { try await clock.sleep(until: end) } catch { return }
            endProbe(of: generation, .nothing)
        }
        probe = Probe(
            generation: generation,
            credential: credential,
            room: room,
            watchdog: watchdog
        )
        publish()
        // One that waits to be sent at all has the token with this; a replay asks for it, unless
        // nobody can.
        let purpose = room.releaseOne(.credential(credential))
        if purpose == .request || (purpose == .replay && credential.isForOneUse) {
            probe?.isUntaken = false
        }
    }

    /// What a caller gets while a new token is tried: the first one gets the token.
    func admitToProbe() -> Admission? {
        guard let probe else { return nil }
        guard probe.isUntaken else { return .wait(probe.room) }
        self.probe?.isUntaken = false
        return .credential(probe.credential)
    }

    /// Ends the wait of all others; nothing happens if another token is being tried.
    func endProbe(of generation: Int, _ finding: Probe.Finding) {
        guard let probe, probe.generation == generation else { return }
        probe.watchdog.cancel()
        self.probe = nil
        publish()
        switch finding {
        case .accepted, .nothing: probe.room.finish(.credential(probe.credential))
        case .refused: probe.room.finish(.refusedAgain)
        }
    }

    /// Ends the trial of a token that is in force no longer: all others ask again.
    func dropProbe() {
        guard let probe else { return }
        probe.watchdog.cancel()
        self.probe = nil
        probe.room.finish(.idle)
    }

    /// Uses the token at hand no longer: another is in force, or none.
    func dropToken() {
        // Counted up, so that a 401 to it is one to an older generation.
        generation += 1
        current = nil
        dropProbe()
    }

    /// Learns that a request with the credential was not refused.
    public nonisolated func accepted(_ credential: Credential) {
        guard let generation = credential.generation, snapshot.wantsWord else { return }
        // Called once per token and doubt; the request does not wait for it.
        Task { await hear(of: generation, .accepted) }
    }

    /// Takes note of what an answer says of the token that its request carried.
    func hear(of generation: Int, _ finding: Probe.Finding) {
        endProbe(of: generation, finding)
        guard finding == .accepted, let current, current.token.generation == generation,
            // Who has to sign in again is told so, whatever a public path answers.
            current.doubt == .suspected, trouble.death == nil
        else { return }
        self.current?.doubt = .none
        publish()
    }
}
