package import EventIO
import FoundationEssentials
import HTTP1
import HTTPMessage
import NetworkCore
package import OriginTransport
package import ProxyConfig
import RequestLog
import System

/// The daemon: event loops, listeners, channels, signals.
package actor Daemon {
    let console: ConsoleStyle
    private let destinations: DestinationPolicy
    let report: OperatorReport
    let environment: [String: String]
    let inherited: InheritedSockets
    /// What is in force, but for what waits for a restart.
    var configuration: ProxyConfiguration
    /// What the process started with, which holds for what waits for a restart.
    let initialConfiguration: ProxyConfiguration
    let started = ContinuousClock.now
    /// The same by the calendar, in seconds since 1970.
    let startedAt = Date().timeIntervalSince1970
    /// When the configuration in force was put there, in seconds since 1970, if that was a reload.
    var loadedAt: Double?
    /// The reload that was refused since, if one was.
    var refusedReload: (at: Double, reasons: [String])?
    let reloadConfiguration: @Sendable () -> Result<ProxyConfiguration, ConfigurationErrors>
    var loops: [EventLoop] = []
    var workers: [LoopBound<Worker>] = []
    var listeners: [ServedAddress] = []
    var listenerCount = 0
    let connectionCount = ConnectionCount()
    let stalls: RateLimitedReport
    let spread = ConnectionSpread<LoopBound<Worker>>()
    var reloading: Task<Result<[String], ReloadFailure>, Never>?
    var channels: [ChannelShared] = []
    /// Token managers of channels before a reload.
    var leaving: [RetiringOAuthManager] = []
    private(set) var assembly: ChannelAssembly?
    var admin: LoopBound<LocalServer>?
    var adminSocket: SharedSocket?
    var signals: LoopBound<SignalSource>?
    /// The start, while it goes on.
    private var opening: Task<Void, any Error>?
    var stopWaiters: [CheckedContinuation<Void, Never>] = []
    var isStopping = false
    var watchdog: Task<Void, Never>?

    /// Prepares a daemon that does not listen yet.
    ///
    /// - Parameters:
    ///   - configuration: what is in force first.
    ///   - environment: where systemd's variables are.
    ///   - inherited: the sockets that systemd handed over.
    ///   - console: whether exchanges are printed for a person.
    ///   - destinations: where apps may lead that name the host themselves.
    ///   - report: told what concerns the daemon itself.
    ///   - reload: reads the configuration again, for SIGHUP.
    package init(
        _ configuration: ProxyConfiguration,
        environment: [String: String],
        inherited: InheritedSockets = InheritedSockets(descriptors: [:]),
        console: ConsoleStyle = .off,
        destinations: DestinationPolicy = .world,
        report: @escaping OperatorReport,
        reload: @escaping @Sendable () -> Result<ProxyConfiguration, ConfigurationErrors>
    ) {
        self.configuration = configuration
        initialConfiguration = configuration
        self.environment = environment
        self.inherited = inherited
        self.console = console
        self.destinations = destinations
        self.report = report
        stalls = RateLimitedReport(report)
        reloadConfiguration = reload
    }

    // MARK: - Starting

    /// Starts loops and listeners; returns when everything serves.
    ///
    /// A signal that ends the daemon meanwhile ends the start; then it has stopped already.
    ///
    /// - Throws: an error that says which address, file or secret cannot be used.
    package func start(handlesSignals: Bool) async throws {
        let opening = Task { try await open(handlesSignals: handlesSignals) }
        self.opening = opening
        let outcome = await opening.result
        self.opening = nil
        // Whoever stops a start gets what he wanted, with or without a fault.
        if opening.isCancelled { return await stop() }
        do {
            try outcome.get()
        } catch {
            // What was opened before the fault is closed on its loops.
            await stop()
            throw error
        }
    }

    private func open(handlesSignals: Bool) async throws {
        // Nobody may read what is reported from here on.
        ProcessSignal.ignoreBrokenPipes()
        // A process of its own: what belongs to the process is the daemon's.
        if handlesSignals { claimDescriptors() }
        let count =
            switch configuration.workers {
            // No more than can have one of each channel's connections.
            case .auto:
                min(
                    max(ProcessInfo.processInfo.activeProcessorCount, 1),
                    4,
                    configuration.channels.map(\.pool.connections).min() ?? 4
                )
            case .count(let count): count
            }
        for index in 0..<count {
            let loop = try EventLoop(index: index)
            try loop.start()
            loops.append(loop)
        }
        // Reading secrets may take a while.
        if handlesSignals { await takeSignals() }
        let assembly = try ChannelAssembly(
            configuration,
            environment: environment,
            loop: loops[0],
            report: report
        )
        self.assembly = assembly
        await replaceChannels(with: try await assembly.channels(of: configuration, keeping: []))
        try await startWorkers()
        try checkReach(of: configuration)
        let places = configuration.listenPlaces
        try Task.checkCancellation()
        try await serve(try open(places))
        try await startAdmin()
        assembly.tell(.daemon, "serving \(counted)")
        notify("READY=1\nSTATUS=serving \(counted)")
        watchdog = proveLife()
    }

    /// How many channels there are, for people.
    var counted: String { DaemonStatus.count(channels.count, "channel") }

    /// Where it listens, in the order of the configuration, with the ports that the system chose.
    package var addresses: [SocketAddress] { listeners.map(\.socket.address) }

    /// Where the admin socket listens, if there is one.
    package var adminAddress: SocketAddress? { adminSocket?.address }

    private func startWorkers() async throws {
        let settings = workerSettings(configuration)
        let requests = UpstreamRequest(
            pseudonym: "netproxy-" + String(UInt32.random(in: .min ... .max), radix: 36)
        )
        guard let assembly else { return }
        let (channels, count, forwarding) = (channels, loops.count, forwarding)
        let router = Router(channels.map(\.configuration))
        for loop in loops {
            workers.append(
                await loop.call { loop in
                    Worker(
                        loop,
                        settings: settings,
                        requests: requests,
                        table: assembly.table(
                            of: channels,
                            routing: router,
                            forwarding: forwarding,
                            keeping: nil,
                            on: loop,
                            loops: count
                        )
                    )
                }
            )
        }
    }

    var forwarding: ForwardProxy.Settings {
        ForwardProxy.Settings(
            unmatched: configuration.unmatched,
            connect: configuration.connect,
            destinations: destinations
        )
    }

    private func startAdmin() async throws {
        let socket: SharedSocket
        let isTCP: Bool
        switch configuration.admin {
        case .off: return
        case .tcp(let endpoint):
            isTCP = true
            guard let opened = try SharedSocket.open(.tcp(endpoint), inherited).first else {
                return
            }
            socket = opened
        case .unix(let path):
            isTCP = false
            if let slash = path.lastIndex(of: "/"), slash > path.startIndex {
                try ConfiguredDirectory.make(
                    String(path[..<slash]),
                    mode: 0o750,
                    for: "admin"
                )
            }
            let opened = try SharedSocket.open(.unix(path), inherited, mode: 0o600)
            guard let own = opened.first else { return }
            socket = own
        }
        adminSocket = socket
        let handler = AdminHandler(isTCP: isTCP, daemon: self)
        let server = await loops[0].call { loop in
            Result<LocalServer, any Error> {
                try LocalServer(socket.socket, on: loop) { await handler.answer($0) }
            }
        }
        admin = try await server.unwrapped()
    }

    // MARK: - Signals

    private func takeSignals() async {
        let loop = loops[0]
        signals = await loop.call { loop in
            SignalSource(on: loop) { [self] signal in
                // The signal's work is the actor's, not the loop's.
                Task { await self.received(signal) }
            }
        }
    }

    private func received(_ signal: ProcessSignal) async {
        switch signal {
        case .terminate, .interrupt:
            guard !isStopping else { return await hurry() }
            if let opening {
                report("stopping before everything has started")
                return opening.cancel()
            }
            let drain = DaemonStatus.time(configuration.drain.seconds)
            report("stopping; what is under way has \(drain) to end, or until the next signal")
            await stop()
        // A start reads everything anyway.
        case .hangUp where opening != nil: break
        case .hangUp: await reload()
        case .user1: reopenLogs()
        }
    }

    /// Ignores SIGHUP and SIGUSR1 until a daemon takes them: neither may end the process before.
    package static func ignoreNotices() {
        ProcessSignal.ignoreNotices()
    }

    /// Opens the log files anew, after they were moved away.
    package func reopenLogs() {
        assembly?.logs.reopen()
    }

    func notify(_ message: String) {
        ServiceManager.notify(message, to: environment["NOTIFY_SOCKET"])
    }
}
