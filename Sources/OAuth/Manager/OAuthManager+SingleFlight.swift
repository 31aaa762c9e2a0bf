import NetworkCore

extension OAuthManager {
    /// Does what is due while the token at hand is still good: looks into the store, or renews.
    func attend() async {
        if nextLook.isReached(at: clock.moment) { await lookAround() }
        renewEarly()
    }

    private func renewEarly() {
        let now = clock.moment
        guard renewal == nil, standingRefusal(at: now) == nil, trouble.death == nil,
            let current, current.doubt != .refused, let windows = current.windows,
            windows.stale.isReached(at: now)
        else { return publish() }
        renew(.early)
    }

    /// Starts a renewal; there must be none.
    ///
    /// - Parameters:
    ///   - reason: why.
    ///   - grant: what a person has just obtained; nothing for what the configuration presents.
    /// - Returns: the renewal; whoever wants its outcome waits in its room.
    @discardableResult
    func renew(_ reason: OAuthEvent.Reason, presenting grant: TokenGrant? = nil) -> Renewal {
        occupy(reason) { await $0.outcome(of: reason, presenting: grant) }
    }

    /// Does something in the place of a renewal; there must be none.
    @discardableResult
    func occupy(
        _ reason: OAuthEvent.Reason,
        with work: @escaping @Sendable (OAuthManager) async -> WaitingRoom.Outcome
    ) -> Renewal {
        renewals += 1
        let id = renewals
        let room = WaitingRoom(clock: clock, limit: configuration.waiterLimit)
        // Single flight: the manager owns this task, so no caller's cancellation reaches it, and a
        // token pair the server has already rotated is never dropped with a request.
        let task = Task { await perform(reason, work, id: id, room: room) }
        let limit = clock.now + Renewal.limit(configuration)
        let last = Renewal.lastPart(configuration)
        // For a transport that neither answers nor keeps its deadline: the slot must become free.
        let watchdog = Task { [clock] in
            do {
                try await clock.sleep(until: limit - last)
                // By a clock that goes on while the machine is suspended: the answer may come now.
                try await clock.sleep(until: clock.now + last)
            } catch { return }
            abandon(id)
        }
        let renewal = Renewal(id: id, reason: reason, room: room, task: task, watchdog: watchdog)
        self.renewal = renewal
        publish()
        return renewal
    }

    private func perform(
        _ reason: OAuthEvent.Reason,
        _ work: @Sendable (OAuthManager) async -> WaitingRoom.Outcome,
        id: Int,
        room: WaitingRoom
    ) async {
        let outcome = await work(self)
        if renewal?.id == id {
            renewal?.watchdog.cancel()
            renewal = nil
        }
        if reason == .unauthorized, case .credential(let credential) = outcome,
            room.count > Probe.threshold, !credential.isProven
        {
            probe(credential, room)
        } else {
            publish()
            room.finish(outcome)
        }
    }

    private func abandon(_ id: Int) {
        guard let late = renewal, late.id == id else { return }
        late.task.cancel()
        renewal = nil
        let outcome = fail(TokenFailure(.lost, detail: "the token request did not end in time"))
        publish()
        late.room.finish(outcome)
    }
}
