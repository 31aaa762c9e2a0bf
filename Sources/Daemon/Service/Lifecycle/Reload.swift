import FoundationEssentials
import NetproxyChannels
import NetproxyConfig
import NetproxyEventIO
import NetproxyPath
import NetproxyRequestLog
import NetproxySystem
import NetworkCore
import OAuth

/// The lines that tell why a reload did not happen.
package struct ReloadFailure: Error, Sendable, CustomStringConvertible {
    /// The errors of the configuration, or why no reload is possible now.
    package let lines: [String]
    /// Whether the daemon is stopping, so that it would refuse every configuration.
    package var isStopping = false

    package var description: String { lines.joined(separator: "\n") }
}

/// Puts a configuration in force while the daemon serves.
///
/// Not `Sendable`: it replaces what its daemon serves. The daemon runs one at a time.
struct Reload {
    private let serving: Serving

    init(_ serving: Serving) {
        self.serving = serving
    }

    /// Reads the configuration again and puts it in force; errors in it are reported, and the old one stays.
    ///
    /// - Returns: the lines for the user.
    func run() async -> Result<[String], ReloadFailure> {
        guard !serving.state.isEnding else { return refuse([ReloadRefusal.stopping.description]) }
        serving.notify("RELOADING=1\nMONOTONIC_USEC=\(monotonicNanoseconds() / 1000)")
        // READY after STOPPING would make systemd expect that the service stays.
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
            // A command may have named another file than the daemon's.
            let lines =
                ["the configuration was reloaded: \(serving.channelCount), \(next.file)"]
                + remarks
            for line in lines { serving.setup.report(line) }
            serving.assembly?.log(.reload, "the configuration was reloaded")
            // The recovery has reported the new ones.
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

    /// Puts the configuration in force once more, with what has changed beside it.
    ///
    /// - Parameter channel: the one whose sign-in may be another now, if that is the reason.
    /// - Returns: the remarks, or the failure.
    func runAgain(following channel: String?) async -> Result<[String], ReloadFailure> {
        guard !serving.state.isEnding else { return .success([]) }
        if let channel {
            // Asked when it is its turn: one installation serves all channels.
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

    /// Whether a channel was made for another sign-in than the stored one.
    private func isBehind(_ name: String) async -> Bool {
        guard let assembly = serving.assembly, let channel = serving.channels[name] else {
            return false
        }
        return await assembly.hasOtherSignIn(than: channel)
    }

    /// Puts a configuration in force, unless the daemon has no channels yet.
    ///
    /// - Returns: the parts of it that are not in force.
    private func install(
        _ next: ProxyConfiguration,
        because reason: InstallReason
    ) async throws -> [String] {
        guard let assembly = serving.assembly else { return [] }
        // What can fail comes first; until then nothing has changed.
        for channel in next.channels where channel.pool.connections < serving.loops.count {
            throw ReloadRefusal.smallPool(channel.name, loops: serving.loops.count)
        }
        try serving.listeners.checkReach(of: next)
        var plan = ListenerPlan(from: serving.listeners.served, to: next.listenPlaces)
        let opened = try serving.listeners.open(plan.missing)
        // The manager of a channel that changes reads the store, which must have everything by then.
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

    /// Opens and serves the addresses that others had to leave first.
    private func serveLate(_ places: [ListenPlace]) async -> [String] {
        var remarks: [String] = []
        // One by one: that one cannot be bound keeps no other away.
        for place in places {
            do {
                remarks += await serveOrTell(try serving.listeners.open([place]))
            } catch {
                remarks.append(Reload.remark(error))
            }
        }
        return remarks
    }

    /// Serves addresses, or returns why they are not served at all; the next reload tries again.
    private func serveOrTell(_ opened: [ServedAddress]) async -> [String] {
        do {
            try await serving.serve(opened)
            return []
        } catch {
            // No descriptors left.
            await serving.stopServing(opened)
            return [Reload.remark(error)]
        }
    }

    private static func remark(_ error: any Error) -> String {
        "\(error); the rest of the configuration is in force"
    }
}

/// Why a configuration is put in force.
private enum InstallReason {
    case reload
    /// It is in force already; a secret, or a server that was found, is another one now.
    case otherInputs
}

/// Why a valid configuration is not put in force.
private enum ReloadRefusal: Error, CustomStringConvertible {
    case stopping
    /// A loop would have no connection of the channel's.
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
