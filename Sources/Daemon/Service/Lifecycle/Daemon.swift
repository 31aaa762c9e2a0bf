import FoundationEssentials
import NetproxyChannels
import NetproxyConfig
package import NetproxyEventIO
import NetproxyPath
import NetproxyRequestLog
import NetproxySystem
import NetworkCore

/// The daemon: starts event loops, listeners and channels, reloads them, and stops them.
package actor Daemon {
    private let setup: DaemonSetup
    private let openAdmin: AdminSocket.Opening
    private let serving: Serving
    let started = ContinuousClock.now
    let startedAt = Date().timeIntervalSince1970
    private(set) var shared: Worker.Shared
    private var stopWaiters: [CheckedContinuation<Void, Never>] = []

    // A start opens these beside the parts that a reload replaces; a stop closes them.
    private var signals: LoopBound<SignalSource>?
    private var admin: [AdminSocket] = []
    private var watchdog: Watchdog?

    /// The last reload, which the next one waits for.
    private var reloading: Task<Result<[String], ReloadFailure>, Never>?
    /// Waits until the secrets are due.
    private var secretRenewal: Task<Void, Never>?

    /// Creates a daemon that does not listen yet.
    init(
        _ configuration: ProxyConfiguration,
        _ setup: DaemonSetup,
        openAdmin: @escaping AdminSocket.Opening
    ) {
        self.setup = setup
        self.openAdmin = openAdmin
        serving = Serving(configuration, setup, at: startedAt)
        shared = Worker.Shared(
            console: setup.console,
            stalls: RateLimitedReport(setup.report)
        )
    }

    // MARK: - Starting

    /// Starts loops and listeners, and waits until every channel serves or has failed to read its secrets.
    ///
    /// A signal during the start ends it; the daemon has then stopped.
    ///
    /// - Throws: an error that names the unusable address, file or secret.
    package func start(handlesSignals: Bool) async throws {
        let opening = Task { try await open(handlesSignals: handlesSignals) }
        serving.state = .starting(opening)
        let outcome = await opening.result
        // A canceled start has succeeded, with or without an error.
        if opening.isCancelled { return await end() }
        do {
            try outcome.get()
        } catch {
            // Close the parts opened before the error, on their loops.
            await end()
            throw error
        }
        await serving.recovery?.waitForFirstAttempts()
        guard !state.isEnding else { return }
        assembly?.log(.daemon, "serving \(serving.channelCount)")
        serving.notify("READY=1\nSTATUS=serving \(serving.channelCount)")
    }

    private func open(handlesSignals: Bool) async throws {
        // A terminal that reads the reports may disappear.
        ProcessSignal.ignoreBrokenPipes()
        let configuration = serving.inForce.current
        // With signals, the daemon owns the process and its descriptors.
        if handlesSignals { claimDescriptors() }
        try startLoops(configuration)
        // Handle signals before reading secrets, which may take a while.
        if handlesSignals { await handleSignals() }
        let assembly = try ChannelAssembly(
            configuration,
            environment: setup.environment,
            loop: serving.loops[0],
            report: setup.report,
            followSignIn: { [weak self] name in Task { await self?.followSignIn(of: name) } }
        )
        serving.assembly = assembly
        let recovery = ChannelRecovery(assembly, report: setup.report) { [weak self] in
            await self?.finish($1, of: $0)
        }
        serving.recovery = recovery
        let first = try await assembly.channels(of: configuration, keeping: [], at: .start)
        await serving.replaceChannels(with: first.channels)
        serving.workers = await WorkerPool(
            on: serving.loops,
            sharing: shared,
            limits: Worker.Limits(configuration, bodyRate: setup.bodyRate),
            requests: UpstreamRequest(
                pseudonym: "netproxy-" + String(UInt32.random(in: .min ... .max), radix: 36)
            ),
            plan: serving.tablePlan(assembly)
        )
        // Begin before the admin interface opens: a reload replaces the outages.
        recovery.begin(first.recoveries, among: first.channels, of: configuration)
        try serving.listeners.checkReach(of: configuration)
        try Task.checkCancellation()
        try await serving.serve(try serving.listeners.open(configuration.listenPlaces))
        for address in configuration.admin {
            admin += try await openAdmin(address, serving.loops[0], self)
        }
        serving.renewSecrets(within: first.secretLifetime)
        renewSecretsInTime()
        if serving.state.isStarting { serving.state = .serving }
        watchdog = Watchdog(serving.loops, setup.environment)
    }

    private func startLoops(_ configuration: ProxyConfiguration) throws {
        for index in 0..<configuration.loopCount {
            let loop = try setup.makeLoop(index)
            try loop.start()
            serving.loops.append(loop)
        }
        if serving.loops.count > 1 { shared.spread = ConnectionSpread() }
    }

    /// Raises the descriptor limit to its maximum, and reports if that is less than the daemon may need.
    private func claimDescriptors() {
        let count = DescriptorLimit.claim()
        let wanted = serving.inForce.current.limits.connections
        guard count < wanted else { return }
        setup.report(
            "limits.connections is \(wanted), but the process can have only \(count) connections: "
                + DescriptorLimit.advice
        )
    }

    /// The addresses of the listeners, in the order of the configuration, with the ports chosen by the
    /// system.
    package var addresses: [SocketAddress] { serving.listeners.addresses }

    /// The addresses of the admin interface, in the order of the configuration.
    package var adminAddresses: [SocketAddress] { admin.map(\.address) }

    /// The places of the admin interface for users: a path, or the URL of the page.
    package var adminPlaces: [String] {
        adminAddresses.map { $0.isUnix ? "\($0)" : "http://\($0)/" }
    }

    // MARK: - Signals

    private func handleSignals() async {
        signals = await serving.loops[0].call { loop in
            SignalSource(on: loop) { [self] signal in
                // The actor handles the signal, not the loop.
                Task { await self.handle(signal) }
            }
        }
    }

    private func handle(_ signal: ProcessSignal) async {
        switch signal {
        case .terminate, .interrupt:
            switch serving.state.stopAction {
            case .cancelStart: setup.report("stopping before everything has started")
            case .drain:
                let drain = Wording.time(serving.inForce.current.drain.seconds)
                setup.report(
                    "stopping: waiting up to \(drain) for running requests; "
                        + "a second signal stops now"
                )
            case .wait, .nothing:
                setup.report("stopping now")
                // Only renewals of refresh tokens can still delay the stop.
                return await serving.workers.cut()
            }
            await stop()
        case .hangUp:
            // A start reads everything anyway.
            if !serving.state.isStarting { await reload(by: nil) }
        case .user1: await serving.assembly?.logs.reopen()
        }
    }

    /// Ignores SIGHUP and SIGUSR1 until a daemon handles them; otherwise they would end the process.
    package static func ignoreNotices() {
        ProcessSignal.ignoreNotices()
    }

    // MARK: - Reloading

    /// Reads the configuration again; if it has errors, reports them and keeps the old one.
    ///
    /// - Parameter peer: the peer that requested the reload; `nil` for a signal, whose sender is unknown.
    /// - Returns: the configuration now in force, or the reason why nothing changed.
    @discardableResult
    func reload(by peer: SocketPeer?) async -> Result<[String], ReloadFailure> {
        let outcome = await reload()
        let failure: String? =
            switch outcome {
            case .success: nil
            case .failure(let failure): failure.lines.first
            }
        record(Audit.reload.record(by: peer, failure: failure))
        return outcome
    }

    /// Reads the configuration again, without a record of the peer.
    @discardableResult
    package func reload() async -> Result<[String], ReloadFailure> {
        await inTurn { await Reload($0).run() }
    }

    /// Returns the channels that a reload would change, without changing them.
    package func plan() async -> Result<[String], ReloadFailure> {
        await ReloadPlan(serving).lines()
    }

    /// Runs a reload or a recovery after all earlier ones.
    ///
    /// Each compares its values with the configuration that its predecessor has put in force.
    private func inTurn(
        _ work: @escaping @Sendable (Serving) async -> Result<[String], ReloadFailure>
    ) async -> Result<[String], ReloadFailure> {
        let previous = reloading
        let next = Task {
            _ = await previous?.value
            let result = await work(serving)
            renewSecretsInTime()
            return result
        }
        reloading = next
        return await next.value
    }

    /// Applies the configuration in force again, with new secrets or servers.
    ///
    /// - Parameter channel: the channel that another process may have signed in to, if that is the reason.
    /// - Returns: the failure, if any.
    private func installAgain(following channel: String? = nil) async -> ReloadFailure? {
        switch await inTurn({ await Reload($0).runAgain(following: channel) }) {
        case .success: nil
        case .failure(let failure): failure
        }
    }

    /// Assembles a channel with a discovered authorization server again after a user has signed in or out.
    func renewServer(of name: String) async {
        guard channels[name]?.configuration.discovery != nil else { return }
        if let failure = await installAgain() {
            setup.report("channel \(name): the server that was found is not in force: \(failure)")
        }
    }

    /// Assembles a channel again if another process has signed in at another server or as another client.
    private func followSignIn(of name: String) async {
        if case .starting(let opening) = state { _ = await opening.result }
        if let failure = await installAgain(following: name) {
            setup.report(
                "channel \(name): the sign-in of another process is not in force: \(failure)"
            )
        }
    }

    /// Puts a channel in force after an attempt to read its secrets and files, if it can serve now.
    private func finish(_ reading: ChannelReading, of outage: ChannelOutage) async {
        serving.recovery?.add(reading, for: outage)
        // This never fails.
        _ = await inTurn {
            await RecoveredChannels($0).install()
            return .success([])
        }
    }

    /// Reads the secrets again when they are due, but not the configuration file, which a user may be
    /// editing.
    private func renewSecretsInTime() {
        secretRenewal?.cancel()
        guard let due = serving.secretsDue, !state.isEnding else { return }
        secretRenewal = Task {
            do { try await Task.sleep(until: due) } catch { return }
            await renewSecretsNow()
        }
    }

    private func renewSecretsNow() async {
        // The time of the next attempt, if this one fails.
        serving.secretsDue = ContinuousClock.now + .seconds(30)
        guard let failure = await installAgain() else { return }
        setup.report(
            "secrets that expire could not be read again, the old ones stay: \(failure)"
        )
    }

    // MARK: - Stopping

    /// The maximum duration of a renewal with a refresh token: as long as one request to a token endpoint.
    private static let renewalTime = Duration.seconds(10)
    /// The time that a stop waits for the disk of the request log.
    private static let logTime = Duration.seconds(5)

    /// Returns when the daemon has stopped.
    package func waitUntilStopped() async {
        if case .stopped = serving.state { return }
        await withCheckedContinuation { stopWaiters.append($0) }
    }

    /// Closes the listeners, waits up to `drain` for exchanges and renewals, and writes the logs.
    ///
    /// It returns when the daemon has stopped, even if another caller began the stop.
    package func stop() async {
        switch serving.state {
        case .created, .serving: await end()
        case .starting(let opening):
            opening.cancel()
            await waitUntilStopped()
        case .draining, .stopped: await waitUntilStopped()
        }
    }

    private func end() async {
        guard !serving.state.isEnding else { return await waitUntilStopped() }
        serving.state = .draining
        serving.recovery?.end()
        let drain = serving.inForce.current.drain
        // Exceeds systemd's own timeout if `drain` does.
        let patience = drain + Daemon.renewalTime + .seconds(10)
        serving.notify(
            "STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=\(Int64(patience / .microseconds(1)))"
        )
        // The loops have their own descriptors until they drain; after that new connections fail.
        serving.listeners.removeAll()
        let limit = SystemClock().now + drain
        await serving.workers.drain(within: drain)
        await serving.workers.cut()
        // Wait even if the drain time is used up: a response in transit may hold the only refresh token.
        await finishRenewals(until: max(limit, SystemClock().now + Daemon.renewalTime))
        await serving.assembly?.oauthClients.state.settle()
        secretRenewal?.cancel()
        // A reload in progress uses the loops; it ends early.
        reloading?.cancel()
        _ = await reloading?.value
        await serving.workers.close()
        if let signals { await signals.call { $0.close() } }
        // Endless responses end first, so that every reader receives the end.
        serving.assembly?.logs.feed.finish()
        serving.assembly?.clientKeys.revokeAll()
        for server in admin { await server.close() }
        await serving.recovery?.waitUntilEnded()
        await watchdog?.stop()
        (signals, admin, watchdog, serving.workers) = (nil, [], nil, .empty)
        for loop in serving.loops {
            loop.stop()
            await loop.waitUntilStopped()
        }
        serving.loops = []
        await serving.assembly?.logs.finish(within: Daemon.logTime)
        serving.state = .stopped
        for waiter in stopWaiters { waiter.resume() }
        stopWaiters = []
    }

    /// Waits for renewals, so that no rotated refresh token is lost.
    private func finishRenewals(until end: ContinuousClock.Instant) async {
        serving.notify("STATUS=waiting for renewals of tokens")
        for owner in await serving.channels.finishRenewals(until: end) {
            let advice =
                serving.inForce.current.credential(of: owner.name)?.signIn
                ?? "netproxy login \(owner.name)"
            setup.report(
                "\(owner): its newest refresh token could not be stored and is lost with this "
                    + "process; sign in again: \(advice)"
            )
        }
    }

    // MARK: - State

    var state: DaemonState { serving.state }
    var inForce: ConfigurationInForce { serving.inForce }
    var loops: [EventLoop] { serving.loops }
    var assembly: ChannelAssembly? { serving.assembly }
    var channels: ChannelSet { serving.channels }
    var workers: WorkerPool { serving.workers }
    var listeners: ListenerSet { serving.listeners }
    /// The channels with missing secrets or files.
    var outages: [ChannelOutage] { serving.recovery?.outages ?? [] }

    /// The reasons why the daemon should receive no traffic; empty if it is ready.
    var reasonsNotReady: [String] {
        if state.isEnding { return ["draining"] }
        if workers.workers.isEmpty { return ["starting"] }
        let starting = outages.filter(\.isStarting)
        guard starting.isEmpty else { return ["starting"] + starting.map(\.line) }
        return addresses.isEmpty ? ["no listener"] : []
    }

    /// Writes a line to the daemon's own log.
    func record(_ event: EventRecord) {
        assembly?.ownLog.write(event)
    }
}

/// A socket of the admin interface.
struct AdminSocket: Sendable {
    /// Opens the admin interface of a daemon at an address; `localhost` may be two sockets.
    typealias Opening =
        @Sendable (_ address: AdminAddress, _ loop: EventLoop, Daemon) async throws -> [AdminSocket]

    /// The socket; its last owner removes its file.
    let socket: SharedSocket
    /// Stops accepting, gives every reader a moment to receive the end of its response, and closes.
    let close: @Sendable () async -> Void

    var address: SocketAddress { socket.address }
}

extension ProxyConfiguration {
    /// The number of event loops to start; at most the number of connections in the smallest channel's pool.
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
