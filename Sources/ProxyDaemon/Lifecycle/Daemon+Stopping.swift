import EventIO
import NetworkCore
import OAuth
import ProxyConfig
import RequestLog

/// The end: exchanges come to theirs, and nothing is lost that was promised.
extension Daemon {
    /// How long a renewal may take in which a refresh token was presented: as long as one request to
    /// a token endpoint.
    private static let renewalTime = Duration.seconds(10)

    /// Returns when the daemon has stopped.
    package func waitUntilStopped() async {
        if isStopping && loops.isEmpty { return }
        await withCheckedContinuation { stopWaiters.append($0) }
    }

    /// Accepts no more, lets exchanges and renewals end within `drain`, writes the logs; also where it
    /// stops already.
    package func stop() async {
        guard !isStopping else { return await waitUntilStopped() }
        isStopping = true
        // Longer than the manager's own patience, if `drain` is.
        let patience = configuration.drain + Daemon.renewalTime + .seconds(10)
        let microseconds = Int64(patience / .microseconds(1))
        notify("STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=\(microseconds)")
        // The loops have descriptors of their own until they drain. After that nobody connects in vain.
        listeners = []
        let end = SystemClock().now + configuration.drain
        await onEachWorker(within: configuration.drain) { $0.drain($1) }
        // What is cut has a moment to write its record.
        await onEachWorker(within: .seconds(1)) { $0.cut($1) }
        // Whatever has used the drain up, an answer that is on its way may hold the only refresh token.
        await finishRenewals(until: max(end, SystemClock().now + Daemon.renewalTime))
        // A reload that was under way uses the loops; it ends early.
        reloading?.cancel()
        _ = await reloading?.value
        for worker in workers { await worker.call { $0.close() } }
        assembly?.logs.finish()
        if let signals { await signals.call { $0.close() } }
        await stopAdmin()
        watchdog?.cancel()
        await watchdog?.value
        admin = nil
        adminSocket = nil
        signals = nil
        for loop in loops {
            loop.stop()
            await loop.waitUntilStopped()
        }
        workers = []
        loops = []
        for waiter in stopWaiters { waiter.resume() }
        stopWaiters = []
    }

    /// Ends what a stop still waits for, but for the renewal of refresh tokens.
    func hurry() async {
        report("stopping at once")
        await onEachWorker(within: .seconds(1)) { $0.cut($1) }
    }

    /// Lets no rotated refresh token be lost on its way here.
    private func finishRenewals(until end: ContinuousClock.Instant) async {
        notify("STATUS=waiting for renewals of tokens")
        let serving = channels.compactMap { channel in
            channel.authorizer?.engine.map { (channel: channel.name, manager: $0) }
        }
        let left = leaving.compactMap { leaving in
            leaving.manager.map { (channel: leaving.channel, manager: $0) }
        }
        await withTaskGroup(of: String?.self) { group in
            for (channel, manager) in serving + left {
                group.addTask { await manager.finishRenewal(until: end) ? nil : channel }
            }
            for await case let channel? in group {
                let advice = channels.first { $0.name == channel }?.configuration.signIn
                report(
                    "channel \(channel): its newest refresh token could not be stored and is lost with "
                        + "this process; sign in again: \(advice ?? "netproxy login \(channel)")"
                )
            }
        }
    }

    /// Ends what has no end of its own, and gives every reader a moment to see it.
    private func stopAdmin() async {
        assembly?.logs.feed.finish()
        assembly?.clientKeys.revokeAll()
        guard let admin else { return }
        await admin.wait(atMost: .seconds(1)) { $0.drain($1) }
        await admin.call { $0.close() }
    }

    /// Starts something on every loop, and returns when all have called back or the time is over.
    private func onEachWorker(
        within limit: Duration,
        _ body: @escaping @Sendable (Worker, @escaping () -> Void) -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            for worker in workers {
                group.addTask { await worker.wait(atMost: limit, for: body) }
            }
        }
    }
}
