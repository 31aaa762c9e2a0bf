import EventIO
import FoundationEssentials
import NetworkCore
import OAuth
import ProxyConfig
import RequestLog

/// Why a reload did not happen, line by line.
package struct ReloadFailure: Error, Sendable {
    /// What is wrong with the configuration, or with the moment.
    package let lines: [String]
    /// Whether the daemon is on its way out, so that no configuration would do.
    package var isStopping = false
}

extension Daemon {
    /// Reads the configuration again; what is wrong with it is reported, and the old one stays.
    @discardableResult
    package func reload() async -> Result<[String], ReloadFailure> {
        let previous = reloading
        // One after the other: each looks at what the one before it has put in force.
        let next = Task {
            _ = await previous?.value
            return await reloadNow()
        }
        reloading = next
        return await next.value
    }

    private func reloadNow() async -> Result<[String], ReloadFailure> {
        guard !isStopping else { return refuse([ReloadRefusal.stopping.description]) }
        notify("RELOADING=1\nMONOTONIC_USEC=\(monotonicNanoseconds() / 1000)")
        // READY behind STOPPING would have systemd take it for a service that stays.
        defer { if !isStopping { notify("READY=1\nSTATUS=serving \(counted)") } }
        switch reloadConfiguration() {
        case .failure(let errors): return refuse(errors.errors.map(\.description))
        case .success(let next):
            do {
                let remarks = try await install(next)
                // A command may have named another file than the daemon.
                (loadedAt, refusedReload) = (Date().timeIntervalSince1970, nil)
                let lines = ["the configuration was reloaded: \(counted), \(next.file)"] + remarks
                for line in lines { report(line) }
                assembly?.tell(.reload, "the configuration was reloaded")
                return .success(lines)
            } catch let errors as ConfigurationErrors {
                return refuse(errors.errors.map(\.description))
            } catch {
                return refuse(["\(error)"])
            }
        }
    }

    private func refuse(_ reasons: [String]) -> Result<[String], ReloadFailure> {
        let lines = reasons + ["the configuration was not reloaded; the old one stays in force"]
        for line in lines { report(line) }
        if !isStopping { refusedReload = (Date().timeIntervalSince1970, reasons) }
        for reason in reasons {
            assembly?.tell(.reload, "the configuration was not reloaded: \(reason)", level: .error)
        }
        return .failure(ReloadFailure(lines: lines, isStopping: isStopping))
    }

    /// Puts a configuration in force, and says what of it is not.
    private func install(_ next: ProxyConfiguration) async throws -> [String] {
        guard let assembly else { return [] }
        var remarks: [String] = []
        // What can fail comes first; until then nothing has changed.
        for channel in next.channels where channel.pool.connections < loops.count {
            throw ReloadRefusal.smallPool(channel.name, loops: loops.count)
        }
        try checkReach(of: next)
        let plan = ListenerPlan(from: listeners, to: next.listenPlaces)
        let opened = try open(plan.missing)
        // A channel that changes looks into the store anew, where what is in memory must be by then.
        for channel in channels { await channel.authorizer?.engine?.writeAgain() }
        let nextChannels = try await assembly.channels(of: next, keeping: channels)
        guard !isStopping else { throw ReloadRefusal.stopping }
        try assembly.logs.move(to: next.log)
        await replaceChannels(with: nextChannels)
        let ignored = initialConfiguration.needingRestart(comparedTo: next)
        if !ignored.isEmpty {
            let verb = ignored.count == 1 ? "takes" : "take"
            remarks.append("\(ignored.joined(separator: ", ")): \(verb) effect at the next start")
        }
        configuration = next
        let moving = plan.moving
        listeners = listeners.map { served in
            moving.first { $0.number == served.number } ?? served
        }
        let (channels, count, forwarding) = (channels, loops.count, forwarding)
        let settings = workerSettings(next)
        let router = Router(channels.map(\.configuration))
        for worker in workers {
            // In slices: a loop that makes a thousand channels serves nobody meanwhile.
            for start in stride(from: 0, to: channels.count, by: Worker.sliceLength) {
                let slice = channels[start..<min(start + Worker.sliceLength, channels.count)]
                await worker.call { $0.prepare(slice, loops: count) }
            }
            await worker.call { worker in
                worker.apply(settings)
                worker.install(
                    assembly.table(
                        of: channels,
                        routing: router,
                        forwarding: forwarding,
                        keeping: worker.table,
                        worker.takePrepared(),
                        on: worker.loop,
                        loops: count
                    )
                )
                for served in moving { worker.give(served.number, to: served.channel) }
            }
        }
        do {
            try await serve(opened)
        } catch {
            // Short of descriptors: not served at all, so that the next reload tries again.
            await stopServing(opened)
            remarks.append("\(error); the rest of the configuration is in force")
        }
        assembly.logs.close(except: channels.map(\.name))
        await stopServing(plan.leaving)
        return remarks
    }
}

extension Daemon {
    /// Puts channels in force, and has the token managers that are new look into the store, each in
    /// the place of the one that its channel had before.
    ///
    /// Only once nothing can fail: a reload that is refused must leave the tokens alone.
    func replaceChannels(with next: [ChannelShared]) async {
        var managers: [OAuthManager] = []
        for channel in next where !channels.contains(where: { $0 === channel }) {
            guard let manager = channel.authorizer as? OAuthManager else { continue }
            if let other = predecessor(of: manager, in: channel.name) {
                await manager.succeed(other)
            }
            managers.append(manager)
        }
        await noteLeaving(behind: next)
        // Not before: the admin socket leads to these, and a token that is asked for in between would
        // be bought with the older refresh token that is stored.
        channels = next
        for manager in managers {
            // Nobody waits for it: the first request does by itself, should it come before the end.
            Task { await manager.start() }
        }
    }
}

extension Daemon {
    /// Whose tokens a new manager goes on with: those of the channel so far or, where that has others,
    /// of the last one of this name that had the same and could not write them.
    func predecessor(of manager: OAuthManager, in channel: String) -> OAuthManager? {
        let present = channels.first { $0.name == channel }?.authorizer as? OAuthManager
        if let present, present.hasTokens(of: manager) { return present }
        let earlier = leaving.last {
            $0.channel == channel && $0.manager?.hasTokens(of: manager) == true
        }
        return earlier?.manager ?? present
    }

    /// Keeps an eye on the managers that other channels have no use for: a renewal may be on its way,
    /// and what could not be written is nowhere else.
    func noteLeaving(behind next: [ChannelShared]) async {
        var kept = leaving
        for channel in channels where !next.contains(where: { $0 === channel }) {
            guard let manager = channel.authorizer?.engine else { continue }
            kept.append(RetiringOAuthManager(manager, of: channel.name))
        }
        for index in kept.indices { await kept[index].releaseIfSaved() }
        leaving = kept.filter { $0.manager != nil }
    }
}

/// Why a good configuration is not reloaded.
private enum ReloadRefusal: Error, CustomStringConvertible {
    case stopping
    /// A loop would have no connection of the channel's.
    case smallPool(String, loops: Int)

    var description: String {
        switch self {
        case .stopping: "the daemon is stopping"
        case .smallPool(let channel, let loops):
            "channels.\(channel).pool.connections: expected at least one for each of the \(loops) "
                + "event loops that run; fewer take a restart"
        }
    }
}
