import NetworkCore

/// Performs the actions of the engine: tasks, timers, waiters and the snapshot.
extension OAuthManager {
    /// Makes a decision of the engine, and performs the actions that follow.
    @discardableResult
    func decide<Answer>(_ body: (inout TokenEngine, Moment) -> Answer) -> Answer {
        let answer = body(&engine, clock.moment)
        perform(engine.takeActions())
        return answer
    }

    /// Reports an event to the engine, and performs the actions that follow.
    func handle(_ event: TokenEvent) {
        perform(engine.handle(event, at: clock.moment))
    }

    private func perform(_ actions: [TokenAction]) {
        for action in actions {
            switch action {
            case .publish: publish()
            case .report(let event): onEvent(event)
            case .startRenewal(let next): run(next)
            case .endRenewal(let ended, let outcome):
                queues.remove(ended)?.waiters.finish(outcome)
            case .abandonRenewal(let late, let outcome):
                let running = queues.remove(late)
                running?.task.cancel()
                running?.waiters.finish(outcome)
            case .startTrial(let next, let ended): start(next, after: ended)
            case .endTrial(let outcome): queues.endTrial(outcome)
            case .startPause: queues.beginPause(newWaiters())
            case .endPause: queues.endPause()
            case .write: saveLater()
            case .unprove(let credential): credential.unprove()
            }
        }
    }

    /// Publishes the state for requests.
    func publish() { snapshot.publish(.init(engine, at: clock.moment)) }

    private func newWaiters() -> RenewalWaiters {
        RenewalWaiters(clock: clock, limit: configuration.waiterLimit)
    }

    // MARK: - Renewals

    /// Starts a renewal immediately; none may be in progress.
    ///
    /// - Returns: the requests that wait for its outcome.
    func renew(
        _ reason: OAuthEvent.Reason,
        presenting grant: TokenGrant? = nil
    ) -> RenewalWaiters {
        run(decide { engine, _ in engine.begin(reason) }, presenting: grant).waiters
    }

    @discardableResult
    private func run(
        _ next: RenewalInProgress,
        presenting grant: TokenGrant? = nil
    ) -> RunningRenewal {
        run(next) { [service, access] manager in
            var renewal = TokenRenewal(
                next.reason,
                presenting: grant,
                service: service,
                access: access
            )
            return await renewal.run(on: manager)
        }
    }

    /// Runs work as if it were a renewal.
    @discardableResult
    func run(
        _ next: RenewalInProgress,
        work: @escaping @Sendable (isolated OAuthManager) async -> RenewalOutcome
    ) -> RunningRenewal {
        // Single flight: the manager owns this task, so no request's cancellation reaches it, and a token
        // pair that the server has already rotated is never dropped with a request.
        let task = Task {
            let outcome = await work(self)
            let running = queues.renewal
            let waiting = running?.renewal == next ? running?.waiters.count : nil
            handle(.renewalEnded(next, outcome, waiting: waiting ?? 0))
        }
        let running = RunningRenewal(
            renewal: next,
            waiters: newWaiters(),
            task: task,
            watchdog: watchdog(of: next)
        )
        queues.begin(running)
        return running
    }

    /// A transport may neither respond nor keep its deadline, and another renewal must be possible.
    private func watchdog(of next: RenewalInProgress) -> Task<Void, Never> {
        let limit = clock.now + configuration.renewalTimeout
        let last = configuration.timeoutAfterResume
        return Task { [clock] in
            do {
                try await clock.sleep(until: limit - last)
                // The clock runs while the machine is suspended: the response may arrive now.
                try await clock.sleep(until: clock.now + last)
            } catch { return }
            handle(.renewalOverdue(next, jitter: jitter()))
        }
    }

    private func start(_ next: TokenTrial, after ended: RenewalInProgress) {
        guard let waiters = queues.remove(ended)?.waiters else { return }
        let end = clock.now + TokenTrial.timeout
        let timer = Task { [clock] in
            do { try await clock.sleep(until: end) } catch { return }
            handle(.responded(generation: next.generation, .inconclusive))
        }
        queues.begin(RunningTrial(waiters: waiters, timer: timer))
        // A request that waits to be sent has the token with this. A replay reads it, unless no other
        // request may.
        let purpose = waiters.releaseOne(.credential(next.credential))
        if purpose == .request || (purpose == .replay && next.credential.isForOneUse) {
            handle(.trialTokenTaken)
        }
    }

    /// Checks the store for changes or renews the token while it is still good.
    func refreshEarly() async {
        if engine.nextStoreCheck.isReached(at: clock.moment) {
            await access.checkForChanges(for: self)
        }
        handle(.staleTokenRead)
    }

    /// Pauses after a failed token request.
    func fail(_ failure: TokenFailure) -> RenewalOutcome {
        // An abandoned renewal has been counted.
        if Task.isCancelled, let known = engine.backoff.lastFailure { return .failed(known) }
        return decide { $0.fail(failure, jitter: jitter(), at: $1) }
    }

    /// Uses the record that another process stored during the renewal.
    func yieldToStored() -> RenewalOutcome {
        decide { $0.yieldToStored(jitter(), at: $1) }
    }

    // MARK: - Writing

    /// Whether the record in memory could not be written.
    var isUnsaved: Bool { engine.isUnsaved }

    /// Whether there is neither a token nor a record.
    var knowsNoToken: Bool { engine.current == nil && engine.record == nil }

    /// Writes the record as soon as possible.
    func saveLater() {
        if rewriting == nil { rewriting = access.writeRepeatedly(for: self) }
    }

    /// Notes that the attempts to write the record have ended.
    func endRewriting() { rewriting = nil }

    /// Ends a renewal's or a writer's use of the lock: it stays while another process would present a
    /// refresh token that was already presented.
    func release(_ lock: TokenStoreLock?) {
        guard let lock else { return }
        if engine.mustKeepLock, lock.isHeld { keptLock = lock } else { lock.release() }
    }

    /// Returns the lock that stayed held, here or in the replaced manager.
    func takeKeptLock() async -> TokenStoreLock? {
        if let lock = keptLock {
            keptLock = nil
            if lock.isHeld { return lock }
        }
        return await predecessor?.takeKeptLock()
    }

    /// Tries to write an unsaved record.
    package func writeAgain() async { await access.saveAgain(for: self) }
}
