import FoundationEssentials
package import NetproxyConfig
package import NetproxyEventIO
import NetproxyRequestLog
import NetproxySystem
import NetworkCore
import OAuth

/// The daemon: starts event loops, listeners and channels, reloads them, and stops them.
package actor Daemon {
    let setup: DaemonSetup
    var inForce: ConfigurationInForce
    private let started = ContinuousClock.now
    private let startedAt = Date().timeIntervalSince1970
    private var shared: Worker.Shared
    private(set) var state = DaemonState.created
    private var stopWaiters: [CheckedContinuation<Void, Never>] = []

    // What a start opens, in this order; a stop closes whatever is there.
    private(set) var loops: [EventLoop] = []
    private var signals: LoopBound<SignalSource>?
    private(set) var assembly: ChannelAssembly?
    private(set) var channels = ChannelSet()
    private(set) var workers = WorkerPool.empty
    var listeners: ListenerSet
    private var admin: [AdminServer] = []
    private var watchdog: Watchdog?

    /// The last reload, which the next one waits for.
    var reloading: Task<Result<[String], ReloadFailure>, Never>?
    /// Waits for the end of a secret's lifetime.
    var secretRenewal: Task<Void, Never>?

    /// Prepares a daemon that does not listen yet.
    package init(_ configuration: ProxyConfiguration, _ setup: DaemonSetup) {
        self.setup = setup
        inForce = ConfigurationInForce(configuration, at: startedAt)
        listeners = ListenerSet(setup.inherited)
        shared = Worker.Shared(
            console: setup.console,
            stalls: RateLimitedReport(setup.report)
        )
    }

    // MARK: - Starting

    /// Starts loops and listeners; returns when everything serves.
    ///
    /// A signal that arrives before then ends the start; then the daemon has stopped.
    ///
    /// - Throws: an error that says which address, file or secret cannot be used.
    package func start(handlesSignals: Bool) async throws {
        let opening = Task { try await open(handlesSignals: handlesSignals) }
        state = .starting(opening)
        let outcome = await opening.result
        // A start that was cancelled has done what was asked of it, with or without an error.
        if opening.isCancelled { return await end() }
        do {
            try outcome.get()
        } catch {
            // What was opened before the error is closed on its loops.
            await end()
            throw error
        }
    }

    private func open(handlesSignals: Bool) async throws {
        // A terminal that reads the reports may go away.
        ProcessSignal.ignoreBrokenPipes()
        let configuration = inForce.current
        // With signals, the process is the daemon's: so are its descriptors.
        if handlesSignals { claimDescriptors() }
        try startLoops(configuration)
        // Before secrets are read, which may take a while.
        if handlesSignals { await handleSignals() }
        let assembly = try ChannelAssembly(
            configuration,
            environment: setup.environment,
            loop: loops[0],
            report: setup.report,
            followSignIn: { [weak self] name in Task { await self?.followSignIn(of: name) } }
        )
        self.assembly = assembly
        let (first, secretLifetime) = try await assembly.channels(of: configuration, keeping: [])
        await replaceChannels(with: first)
        workers = await WorkerPool(
            on: loops,
            sharing: shared,
            limits: Worker.Limits(configuration, bodyRate: setup.bodyRate),
            requests: UpstreamRequest(
                pseudonym: "netproxy-" + String(UInt32.random(in: .min ... .max), radix: 36)
            ),
            plan: tablePlan(assembly)
        )
        try listeners.checkReach(of: configuration)
        try Task.checkCancellation()
        try await serve(try listeners.open(configuration.listenPlaces))
        for address in configuration.admin {
            admin += try await AdminServer.open(address, on: loops[0], daemon: self)
        }
        renewSecrets(after: secretLifetime)
        if state.isStarting { state = .serving }
        assembly.log(.daemon, "serving \(channelCount)")
        notify("READY=1\nSTATUS=serving \(channelCount)")
        watchdog = Watchdog(loops, setup.environment)
    }

    private func startLoops(_ configuration: ProxyConfiguration) throws {
        for index in 0..<configuration.loopCount {
            let loop = try setup.makeLoop(index)
            try loop.start()
            loops.append(loop)
        }
        if loops.count > 1 { shared.spread = ConnectionSpread() }
    }

    /// Gets as many descriptors as the process may have, and reports if that is less than it may need.
    private func claimDescriptors() {
        let count = DescriptorLimit.claim()
        let wanted = inForce.current.limits.connections
        guard count < wanted else { return }
        setup.report(
            "limits.connections is \(wanted), but the process can have only \(count) connections: "
                + DescriptorLimit.advice
        )
    }

    /// The number of channels, with its noun.
    var channelCount: String { DaemonStatus.count(channels.channels.count, "channel") }

    /// Where it listens, in the order of the configuration, with the ports that the system chose.
    package var addresses: [SocketAddress] { listeners.addresses }

    /// Where the admin interface listens, in the order of the configuration.
    package var adminAddresses: [SocketAddress] { admin.map(\.address) }

    /// The same for people: a path, or the URL of the page.
    package var adminPlaces: [String] {
        adminAddresses.map { $0.isUnix ? "\($0)" : "http://\($0)/" }
    }

    // MARK: - Channels and listeners

    /// What every loop makes its table of the channels in force of.
    func tablePlan(_ assembly: ChannelAssembly) -> ChannelTablePlan {
        let configuration = inForce.current
        return ChannelTablePlan(
            channels.channels,
            forwarding: ForwardProxy.Settings(
                unmatched: configuration.unmatched,
                connect: configuration.connect,
                destinations: setup.destinations
            ),
            ownLog: assembly.ownLog,
            loops: loops.count
        )
    }

    /// Puts channels in force, and has the token managers that are new look into the store.
    func replaceChannels(with next: [ChannelShared]) async {
        let (set, managers) = await channels.replaced(with: next)
        // Not before: the admin socket leads to these, and a token that is asked for in between would
        // be bought with the older refresh token that is stored.
        channels = set
        for manager in managers {
            // Not awaited: the first request starts it as well, should it come earlier.
            Task { await manager.start() }
        }
    }

    /// Accepts from sockets on every loop.
    func serve(_ opened: [ServedAddress]) async throws {
        for served in opened where !state.isEnding {
            listeners.add(served)
            try await workers.listen(on: served)
        }
    }

    /// Accepts no more from sockets; what came over them has the time of `drain`.
    func stopServing(_ closed: [ServedAddress]) async {
        let limit = inForce.current.drain
        for served in closed {
            await workers.stopListening(on: served, within: limit)
            listeners.remove(served)
        }
    }

    // MARK: - Signals

    private func handleSignals() async {
        signals = await loops[0].call { loop in
            SignalSource(on: loop) { [self] signal in
                // The signal's work is the actor's, not the loop's.
                Task { await self.handle(signal) }
            }
        }
    }

    private func handle(_ signal: ProcessSignal) async {
        switch signal {
        case .terminate, .interrupt:
            switch state.stopAction {
            case .cancelStart: setup.report("stopping before everything has started")
            case .drain:
                let drain = DaemonStatus.time(inForce.current.drain.seconds)
                setup.report(
                    "stopping: waiting up to \(drain) for running requests; "
                        + "Ctrl-C or another signal stops now"
                )
            case .wait, .nothing:
                setup.report("stopping now")
                // Only the renewal of refresh tokens is still waited for.
                return await workers.cut()
            }
            await stop()
        case .hangUp:
            // A start reads everything anyway.
            if !state.isStarting { await reload(by: nil) }
        case .user1: await assembly?.logs.reopen()
        }
    }

    /// Ignores SIGHUP and SIGUSR1 until a daemon handles them: neither may end the process before.
    package static func ignoreNotices() {
        ProcessSignal.ignoreNotices()
    }

    /// Sends a message to systemd, if it started this process.
    func notify(_ message: String) {
        ServiceManager.notify(message, to: setup.environment["NOTIFY_SOCKET"])
    }

    // MARK: - Stopping

    /// How long a renewal may take in which a refresh token was presented: as long as one request to
    /// a token endpoint.
    private static let renewalTime = Duration.seconds(10)
    /// How long a stop waits for the disk of the request log.
    private static let logTime = Duration.seconds(5)

    /// Returns when the daemon has stopped.
    package func waitUntilStopped() async {
        if case .stopped = state { return }
        await withCheckedContinuation { stopWaiters.append($0) }
    }

    /// Accepts no more, lets exchanges and renewals end within `drain`, and writes the logs; returns
    /// when the daemon has stopped, also if another caller began the stop.
    package func stop() async {
        switch state {
        case .created, .serving: await end()
        case .starting(let opening):
            opening.cancel()
            await waitUntilStopped()
        case .draining, .stopped: await waitUntilStopped()
        }
    }

    private func end() async {
        guard !state.isEnding else { return await waitUntilStopped() }
        state = .draining
        let drain = inForce.current.drain
        // Longer than systemd's own patience, if `drain` is.
        let patience = drain + Daemon.renewalTime + .seconds(10)
        notify(
            "STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=\(Int64(patience / .microseconds(1)))"
        )
        // The loops have descriptors of their own until they drain; after that connecting fails.
        listeners.removeAll()
        let limit = SystemClock().now + drain
        await workers.drain(within: drain)
        await workers.cut()
        // Even if the drain is used up: a response on its way may hold the only refresh token.
        await finishRenewals(until: max(limit, SystemClock().now + Daemon.renewalTime))
        await assembly?.oauthClients.state.settle()
        secretRenewal?.cancel()
        // A reload under way uses the loops; it ends early.
        reloading?.cancel()
        _ = await reloading?.value
        await workers.close()
        if let signals { await signals.call { $0.close() } }
        // Endless answers end first, so that every reader can see their end.
        assembly?.logs.feed.finish()
        assembly?.clientKeys.revokeAll()
        for server in admin { await server.close() }
        await watchdog?.stop()
        (signals, admin, watchdog, workers) = (nil, [], nil, .empty)
        for loop in loops {
            loop.stop()
            await loop.waitUntilStopped()
        }
        loops = []
        await assembly?.logs.finish(within: Daemon.logTime)
        state = .stopped
        for waiter in stopWaiters { waiter.resume() }
        stopWaiters = []
    }

    /// Waits for renewals, so that no rotated refresh token is lost.
    private func finishRenewals(until end: ContinuousClock.Instant) async {
        notify("STATUS=waiting for renewals of tokens")
        for owner in await channels.finishRenewals(until: end) {
            let advice =
                inForce.current.credential(of: owner.name)?.signIn
                ?? "netproxy login \(owner.name)"
            setup.report(
                "\(owner): its newest refresh token could not be stored and is lost with this "
                    + "process; sign in again: \(advice)"
            )
        }
    }

    // MARK: - Looking

    /// The state of the daemon, added up over the loops.
    func status() async -> DaemonStatus {
        let figures = await workers.figures()
        let collector = StatusCollector(
            figures: figures,
            tokenRequests: assembly?.tokenRequests
        )
        return DaemonStatus(
            uptimeS: DaemonStatus.tenths(started.duration(to: .now)),
            state: state.word,
            listen: addresses.map(\.description),
            workers: loops.count,
            connections: figures.connections,
            connectionsRefused: shared.connectionCount.refused,
            logLinesDropped: assembly?.logs.droppedLines ?? 0,
            configuration: inForce.status,
            process: await collector.process(startedAt: startedAt),
            unclaimed: figures.unclaimed.statuses,
            store: assembly?.oauthClients.state.standing.map(DaemonStatus.Store.init),
            identities: await collector.identities(channels.channels),
            channels: await collector.channels(channels.channels)
        )
    }

    /// Why the daemon should get no traffic; empty while it should.
    var reasonsNotReady: [String] {
        if state.isEnding { return ["draining"] }
        if workers.workers.isEmpty { return ["starting"] }
        return addresses.isEmpty ? ["no listener"] : []
    }

    /// Writes a line into the daemon's own log.
    func record(_ event: EventRecord) {
        assembly?.ownLog.write(event)
    }

    /// Lends a key to a program; without names, for all channels.
    ///
    /// - Returns: the lease, or why the request is refused.
    func lend(
        to names: [String],
        as identity: String?,
        _ peer: SocketPeer,
        over reach: AdminReach
    ) -> Result<ClientLeaseBody, AdminRefusal> {
        guard let keys = assembly?.clientKeys, !state.isEnding else {
            return .failure(AdminRefusal(status: 503, detail: "draining"))
        }
        return KeyLending(keys: keys, channels: channels, listeners: listeners)
            .lend(to: names, as: identity, peer, over: reach)
    }
}

extension ProxyConfiguration {
    /// How many event loops to start; never more than each channel has connections for.
    fileprivate var loopCount: Int {
        switch workers {
        case .auto:
            min(
                max(ProcessInfo.processInfo.activeProcessorCount, 1),
                4,
                channels.map(\.pool.connections).min() ?? 4
            )
        case .count(let count): count
        }
    }
}
