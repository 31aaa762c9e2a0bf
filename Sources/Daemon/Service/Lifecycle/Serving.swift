import NetproxyChannels
import NetproxyConfig
import NetproxyEventIO
import NetproxyPath
import NetproxySystem
import OAuth

/// The open parts of a daemon, and the configuration in force.
///
/// A start creates the parts, a reload replaces them, and a stop closes them.
///
/// Not `Sendable`: it never leaves the daemon's actor.
final class Serving {
    let setup: DaemonSetup
    var state = DaemonState.created
    var inForce: ConfigurationInForce
    var loops: [EventLoop] = []
    var assembly: ChannelAssembly?
    var recovery: ChannelRecovery?
    private(set) var channels = ChannelSet()
    var workers = WorkerPool.empty
    var listeners: ListenerSet
    /// The time to read the secrets again, shortly before one of them expires.
    var secretsDue: ContinuousClock.Instant?

    /// Creates the state before a start.
    init(_ configuration: ProxyConfiguration, _ setup: DaemonSetup, at now: Double) {
        self.setup = setup
        inForce = ConfigurationInForce(configuration, at: now)
        listeners = ListenerSet(setup.inherited)
    }

    /// The number of channels, with its noun.
    var channelCount: String { Wording.count(channels.channels.count, "channel") }

    /// Returns the plan from which every loop builds its table of the channels in force.
    func tablePlan(_ assembly: ChannelAssembly) -> ChannelTablePlan {
        let configuration = inForce.current
        return ChannelTablePlan(
            channels.channels.map(\.rules),
            forwarding: ForwardProxy.Settings(
                unmatched: configuration.unmatched,
                connect: configuration.connect,
                destinations: setup.destinations
            ),
            ownLog: assembly.ownLog,
            loops: loops.count
        )
    }

    /// Puts channels in force, and starts new token managers, which look into the store.
    func replaceChannels(with next: [ChannelRecord]) async {
        let (set, managers) = await channels.replaced(with: next)
        // Set the channels only now: the admin socket uses them, and a token requested earlier would be
        // bought with the older refresh token in the store.
        channels = set
        for manager in managers {
            // Not awaited: the first request starts the manager, too, if it comes earlier.
            Task { await manager.start() }
        }
    }

    /// Brings `secretsDue` forward for a secret's lifetime, if it has one.
    func renewSecrets(within lifetime: Duration?) {
        guard let lifetime else { return }
        let due = ContinuousClock.now + max(lifetime * 0.8, .seconds(1))
        secretsDue = min(secretsDue ?? due, due)
    }

    /// Accepts from sockets on every loop.
    func serve(_ opened: [ServedAddress]) async throws {
        for served in opened where !state.isEnding {
            listeners.add(served)
            try await workers.listen(on: served)
        }
    }

    /// Stops accepting from sockets; their connections may finish within `drain`.
    func stopServing(_ closed: [ServedAddress]) async {
        let limit = inForce.current.drain
        for served in closed {
            await workers.stopListening(on: served, within: limit)
            listeners.remove(served)
        }
    }

    /// Sends a message to systemd, if it started this process.
    func notify(_ message: String) {
        do throws(IOError) {
            try deliver(message)
        } catch {
            setup.report("\(error)")
        }
    }

    /// Reports to systemd that the start is complete.
    ///
    /// - Throws: `IOError.system` if the process has no descriptor left, so that the start does not wait for
    ///   systemd's timeout.
    func notifyReady() throws(IOError) {
        try deliver("READY=1\nSTATUS=serving \(channelCount)")
    }

    private func deliver(_ message: String) throws(IOError) {
        do throws(FileError) {
            try ServiceManager.notify(message, to: setup.environment["NOTIFY_SOCKET"])
        } catch {
            throw .system("systemd: \(error); the process should \(DescriptorLimit.advice)")
        }
    }
}
