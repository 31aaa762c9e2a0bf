import FoundationEssentials
import NetproxyChannels
import NetproxyConfig
import NetproxyEventIO
import NetproxyPath
import NetproxyRequestLog
import NetproxySystem
import NetworkCore
import OAuth

/// The reasons for a failed reload.
package struct ReloadFailure: Error, Sendable, CustomStringConvertible {
    /// The errors of the configuration, or the reason why no reload is possible now.
    package let lines: [String]
    /// Whether the daemon is stopping, so that it would refuse every configuration.
    package var isStopping = false

    package var description: String { lines.joined(separator: "\n") }
}

/// Puts a configuration in force while the daemon serves.
///
/// Not `Sendable`: it changes the daemon's `Serving`. The daemon runs one reload at a time.
struct Reload {
    private let serving: Serving

    init(_ serving: Serving) {
        self.serving = serving
    }

    /// Reads the configuration again and puts it in force; if it has errors, reports them and keeps the old
    /// one.
    ///
    /// - Returns: the lines for the user.
    func run() async -> Result<[String], ReloadFailure> {
        guard !serving.state.isEnding else { return refuse([ReloadRefusal.stopping.description]) }
        serving.notify("RELOADING=1\nMONOTONIC_USEC=\(monotonicNanoseconds() / 1000)")
        // READY after STOPPING would make systemd expect the service to continue.
        defer {
            if !serving.state.isEnding {
                serving.notify("READY=1\nSTATUS=serving \(serving.channelCount)")
            }
        }
        do {
            let next = try await OffLoop.run { [setup = serving.setup] in
                try setup.readConfiguration().get()
            }
            let remarks = try await install(next, because: .reload)
            // A command may have used another file than the daemon's.
            let lines =
                ["the configuration was reloaded: \(serving.channelCount), \(next.file)"]
                + remarks
            for line in lines { serving.setup.report(line) }
            serving.assembly?.log(.reload, "the configuration was reloaded")
            // The recovery has reported the new outages.
            return .success(lines + (serving.recovery?.outages ?? []).map(\.line))
        } catch let errors as ConfigurationErrors {
            return refuse(errors.errors.map(\.description))
        } catch {
            return refuse(["\(error)"])
        }
    }

    private func refuse(_ reasons: [String]) -> Result<[String], ReloadFailure> {
        let lines = reasons + ["the configuration was not reloaded; the old one stays in force"]
        for line in lines { serving.setup.report(line) }
        if !serving.state.isEnding {
            serving.inForce.refuse(reasons, at: Date().timeIntervalSince1970)
        }
        for reason in reasons {
            serving.assembly?.log(
                .reload,
                "the configuration was not reloaded: \(reason)",
                level: .error
            )
        }
        return .failure(ReloadFailure(lines: lines, isStopping: serving.state.isEnding))
    }

    /// Applies the configuration in force again, with changed secrets or servers.
    ///
    /// - Parameter channel: the channel whose sign-in may have changed, if that is the reason.
    /// - Returns: the remarks, or the failure.
    func runAgain(following channel: String?) async -> Result<[String], ReloadFailure> {
        guard !serving.state.isEnding else { return .success([]) }
        if let channel {
            // Check when it is this call's turn: one installation serves all channels.
            guard await isBehind(channel) else { return .success([]) }
            serving.setup.report(
                "channel \(channel): another process has signed in; following it"
            )
        }
        do {
            return .success(try await install(serving.inForce.current, because: .otherInputs))
        } catch {
            return .failure(ReloadFailure(lines: ["\(error)"]))
        }
    }

    /// Whether the stored sign-in of a channel is not the one in force.
    private func isBehind(_ name: String) async -> Bool {
        guard let assembly = serving.assembly, let channel = serving.channels[name] else {
            return false
        }
        return await assembly.hasOtherSignIn(than: channel)
    }

    /// Puts a configuration in force, unless the daemon has no channels yet.
    ///
    /// - Returns: remarks about the parts that are not in force.
    private func install(
        _ next: ProxyConfiguration,
        because reason: InstallReason
    ) async throws -> [String] {
        guard let assembly = serving.assembly else { return [] }
        // Steps that can fail come first; nothing has changed until they succeed.
        for channel in next.channels where channel.pool.connections < serving.loops.count {
            throw ReloadRefusal.smallPool(channel.name, loops: serving.loops.count)
        }
        try serving.listeners.checkReach(of: next)
        var plan = ListenerPlan(from: serving.listeners.served, to: next.listenPlaces)
        let opened = try serving.listeners.open(plan.missing)
        // A changed channel's manager reads the store, which must contain everything by then.
        for manager in serving.channels.managers { await manager.writeAgain() }
        let present = serving.channels.channels
        let assembled = try await OffLoop.run {
            try await assembly.channels(of: next, keeping: present, at: .reload)
        }
        guard !serving.state.isEnding else { throw ReloadRefusal.stopping }
        try await assembly.logs.move(to: next.log)
        await serving.replaceChannels(with: assembled.channels)
        serving.secretsDue = nil
        serving.renewSecrets(within: assembled.secretLifetime)
        var remarks: [String] = []
        let waiting =
            switch reason {
            case .reload: serving.inForce.replace(with: next, at: Date().timeIntervalSince1970)
            case .otherInputs: [String]()
            }
        if !waiting.isEmpty {
            let verb = waiting.count == 1 ? "takes" : "take"
            remarks.append(
                "\(waiting.joined(separator: ", ")): \(verb) effect at the next start"
            )
        }
        serving.listeners.reassign(plan.moving)
        await serving.workers.install(
            serving.tablePlan(assembly),
            limits: Worker.Limits(next, bodyRate: serving.setup.bodyRate),
            moving: plan.moving
        )
        if !serving.state.isEnding {
            serving.recovery?.begin(assembled.recoveries, among: assembled.channels, of: next)
        }
        remarks += await serveOrTell(opened)
        assembly.logs.close(except: serving.channels.names)
        await serving.stopServing(plan.takeLeaving())
        remarks += await serveLate(plan.late)
        return remarks
    }

    /// Opens and serves the addresses that were blocked by other listeners.
    private func serveLate(_ places: [ListenPlace]) async -> [String] {
        var remarks: [String] = []
        // Open them one by one: a failed address must not affect the others.
        for place in places {
            do {
                remarks += await serveOrTell(try serving.listeners.open([place]))
            } catch {
                remarks.append(Reload.remark(error))
            }
        }
        return remarks
    }

    /// Serves addresses, or returns a remark if they cannot be served; the next reload tries again.
    private func serveOrTell(_ opened: [ServedAddress]) async -> [String] {
        do {
            try await serving.serve(opened)
            return []
        } catch {
            // The process has no descriptors left.
            await serving.stopServing(opened)
            return [Reload.remark(error)]
        }
    }

    private static func remark(_ error: any Error) -> String {
        "\(error); the rest of the configuration is in force"
    }
}

/// The reason for putting a configuration in force.
private enum InstallReason {
    case reload
    /// The configuration is already in force; a secret or a discovered server has changed.
    case otherInputs
}

/// The reason for refusing a valid configuration.
private enum ReloadRefusal: Error, CustomStringConvertible {
    case stopping
    /// A loop would have no connection of the channel.
    case smallPool(String, loops: Int)

    var description: String {
        switch self {
        case .stopping: "the daemon is stopping"
        case .smallPool(let channel, let loops):
            "channels.\(channel).pool.connections: expected at least one for each of the \(loops) "
                + "running event loops; reducing their number requires a restart"
        }
    }
}
