import FoundationEssentials
import NetproxyConfig
import NetproxyEventIO
import NetproxyRequestLog
import NetworkCore
import OAuth
import Synchronization

/// Why a reload did not happen, line by line.
package struct ReloadFailure: Error, Sendable {
    /// What is wrong with the configuration, or why no reload is possible now.
    package let lines: [String]
    /// Whether the daemon is stopping, so that it would refuse every configuration.
    package var isStopping = false
}

extension Daemon {
    /// Reads the configuration again; errors in it are reported, and the old one stays.
    ///
    /// - Parameter peer: who has requested it; `nil` for a signal, whose sender is not known.
    /// - Returns: what is now in force, or why nothing changed.
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

    /// The same, without a record of who has requested it.
    @discardableResult
    package func reload() async -> Result<[String], ReloadFailure> {
        let previous = reloading
        // One after the other: each compares with what the one before has put in force.
        let next = Task {
            _ = await previous?.value
            return await reloadNow()
        }
        reloading = next
        return await next.value
    }

    private func reloadNow() async -> Result<[String], ReloadFailure> {
        guard !state.isEnding else { return refuse([ReloadRefusal.stopping.description]) }
        notify("RELOADING=1\nMONOTONIC_USEC=\(monotonicNanoseconds() / 1000)")
        // READY after STOPPING would make systemd expect that the service stays.
        defer { if !state.isEnding { notify("READY=1\nSTATUS=serving \(channelCount)") } }
        do {
            let next = try await OffLoop.run { [setup] in try setup.readConfiguration().get() }
            let remarks = try await install(next)
            // A command may have named another file than the daemon's.
            let lines =
                ["the configuration was reloaded: \(channelCount), \(next.file)"] + remarks
            for line in lines { setup.report(line) }
            assembly?.log(.reload, "the configuration was reloaded")
            return .success(lines)
        } catch let errors as ConfigurationErrors {
            return refuse(errors.errors.map(\.description))
        } catch {
            return refuse(["\(error)"])
        }
    }

    private func refuse(_ reasons: [String]) -> Result<[String], ReloadFailure> {
        let lines = reasons + ["the configuration was not reloaded; the old one stays in force"]
        for line in lines { setup.report(line) }
        if !state.isEnding { inForce.refuse(reasons, at: Date().timeIntervalSince1970) }
        for reason in reasons {
            assembly?.log(.reload, "the configuration was not reloaded: \(reason)", level: .error)
        }
        return .failure(ReloadFailure(lines: lines, isStopping: state.isEnding))
    }

    /// Puts a configuration in force.
    ///
    /// - Returns: what of it is not in force, one remark each.
    private func install(
        _ next: ProxyConfiguration,
        because reason: InstallReason = .reload
    ) async throws -> [String] {
        guard let assembly else { return [] }
        // What can fail comes first; until then nothing has changed.
        for channel in next.channels where channel.pool.connections < loops.count {
            throw ReloadRefusal.smallPool(channel.name, loops: loops.count)
        }
        try listeners.checkReach(of: next)
        var plan = ListenerPlan(from: listeners.served, to: next.listenPlaces)
        let opened = try listeners.open(plan.missing)
        // The manager of a channel that changes reads the store, which must have everything by then.
        for manager in channels.managers { await manager.writeAgain() }
        let present = channels.channels
        let (nextChannels, secretLifetime) = try await OffLoop.run {
            try await assembly.channels(of: next, keeping: present)
        }
        guard !state.isEnding else { throw ReloadRefusal.stopping }
        try await assembly.logs.move(to: next.log)
        await replaceChannels(with: nextChannels)
        renewSecrets(after: secretLifetime)
        var remarks: [String] = []
        let waiting =
            switch reason {
            case .reload: inForce.replace(with: next, at: Date().timeIntervalSince1970)
            case .otherInputs: [String]()
            }
        if !waiting.isEmpty {
            let verb = waiting.count == 1 ? "takes" : "take"
            remarks.append("\(waiting.joined(separator: ", ")): \(verb) effect at the next start")
        }
        listeners.reassign(plan.moving)
        await workers.install(
            tablePlan(assembly),
            limits: Worker.Limits(next, bodyRate: setup.bodyRate),
            moving: plan.moving
        )
        remarks += await serveOrTell(opened)
        assembly.logs.close(except: channels.names)
        await stopServing(plan.takeLeaving())
        // One by one: that one cannot be bound keeps no other away.
        for place in plan.late {
            do {
                remarks += await serveOrTell(try listeners.open([place]))
            } catch {
                remarks.append(Daemon.remark(error))
            }
        }
        return remarks
    }

    /// Serves addresses, or returns why they are not served at all; the next reload tries again.
    private func serveOrTell(_ opened: [ServedAddress]) async -> [String] {
        do {
            try await serve(opened)
            return []
        } catch {
            // No descriptors left.
            await stopServing(opened)
            return [Daemon.remark(error)]
        }
    }

    private static func remark(_ error: any Error) -> String {
        "\(error); the rest of the configuration is in force"
    }

    // MARK: - Secrets that expire

    /// How long after a failure secrets are read again.
    private static let renewalPause = Duration.seconds(30)

    /// Reads the secrets again shortly before one of them expires, without the configuration file: a
    /// person may be editing it.
    func renewSecrets(after lifetime: Duration?) {
        secretRenewal?.cancel()
        guard let lifetime, !state.isEnding else { return }
        let delay = max(lifetime * 0.8, .seconds(1))
        secretRenewal = Task {
            do { try await Task.sleep(for: delay) } catch { return }
            await renewSecretsNow()
        }
    }

    private func renewSecretsNow() async {
        guard let error = await installAgain() else { return }
        setup.report("a secret that expires could not be read again, the old one stays: \(error)")
        renewSecrets(after: Daemon.renewalPause / 0.8)
    }

    /// Puts the configuration in force once more, with what has changed beside it.
    ///
    /// - Parameter channel: the one whose sign-in may be another now, if that is the reason.
    /// - Returns: why that failed.
    private func installAgain(following channel: String? = nil) async -> (any Error)? {
        let previous = reloading
        let failure = Mutex<(any Error)?>(nil)
        let next = Task { () -> Result<[String], ReloadFailure> in
            _ = await previous?.value
            guard !state.isEnding else { return .success([]) }
            if let channel {
                // Asked when it is its turn: one installation serves all channels.
                guard await isBehind(channel) else { return .success([]) }
                setup.report("channel \(channel): another process has signed in; following it")
            }
            do {
                return .success(try await install(inForce.current, because: .otherInputs))
            } catch {
                failure.withLock { $0 = error }
                return .success([])
            }
        }
        reloading = next
        _ = await next.value
        return failure.withLock { $0 }
    }

    /// Makes a channel again whose authorization server is found by its upstream's URL: a user has signed
    /// in or out.
    func renewServer(of name: String) async {
        guard channels[name]?.configuration.discovery != nil else { return }
        if let error = await installAgain() {
            setup.report("channel \(name): the server that was found is not in force: \(error)")
        }
    }

    /// Makes a channel again if another process has signed in at a server, or as a client, that it was not
    /// made for.
    func followSignIn(of name: String) async {
        if case .starting(let opening) = state { _ = await opening.result }
        if let error = await installAgain(following: name) {
            setup.report(
                "channel \(name): the sign-in of another process is not in force: \(error)"
            )
        }
    }

    /// Whether a channel was made for another sign-in than the stored one.
    private func isBehind(_ name: String) async -> Bool {
        guard let assembly, let channel = channels[name] else { return false }
        return await assembly.hasOtherSignIn(than: channel)
    }

    // MARK: - Planning

    /// Which channels a reload would change, without changing them.
    package func plan() async -> Result<[String], ReloadFailure> {
        let next: ProxyConfiguration
        switch await OffLoop.run({ [setup] in setup.readConfiguration() }) {
        case .success(let read): next = read
        case .failure(let error):
            return .failure(ReloadFailure(lines: error.errors.map(\.description)))
        }
        // Its own readings: a reload may be reading at the same time.
        let secrets = assembly.map { SecretReader($0.secrets.resolver) }
        let present = inForce.current.channels
        var lines = next.written.changes(from: inForce.current.written, channel: nil)
        for channel in next.channels {
            guard let known = present.first(where: { $0.name == channel.name }) else {
                lines.append("added: \(channel.name)")
                continue
            }
            let changes: [String]?
            if channel == known {
                changes = await renewedInputs(of: channel, in: next, secrets)
            } else {
                changes =
                    next.written.changes(from: inForce.current.written, channel: channel.name)
                    + channel.changedIdentities(since: known).map { "identities.\($0): changed" }
            }
            if let changes {
                lines += ["changed: \(channel.name)"] + changes.map { "  \($0)" }
            }
        }
        for channel in present where !next.channels.contains(where: { $0.name == channel.name }) {
            lines.append("removed: \(channel.name)")
        }
        return .success(lines.isEmpty ? ["nothing would change: \(next.file)"] : lines)
    }

    /// Which secrets and files have changed since the channel was made of them, one line a key.
    ///
    /// One that cannot be read counts, and the reload will report it. `nil` if none has changed.
    private func renewedInputs(
        of wanted: ChannelConfiguration,
        in next: ProxyConfiguration,
        _ secrets: SecretReader?
    ) async -> [String]? {
        guard let channel = channels[wanted.name], let secrets, let assembly else { return [] }
        var unreadable: Set<SecretReference> = []
        let inputs = await assembly.inputs(of: wanted, reading: secrets) { reference, _ in
            unreadable.insert(reference)
        }
        guard !unreadable.isEmpty || inputs != channel.inputs else { return nil }
        let changed = inputs.changes(from: channel.inputs)
        let references = changed.secrets.union(unreadable)
        let keys = next.mentions.filter { mention in
            let places =
                ["channels.\(wanted.name).", "defaults."]
                + wanted.credentials.compactMap(\.identity).map { "identities.\($0)." }
            return places.contains(where: mention.key.hasPrefix)
                && mention.resource.names(references, changed.files)
        }.map(\.key)
        return Set(keys).sorted().map { "\($0): changed" }
    }
}

extension ChannelConfiguration {
    /// The identities of the channel that are not what they were.
    fileprivate func changedIdentities(since earlier: ChannelConfiguration) -> [String] {
        credentials.filter { credential in
            earlier.credentials.contains { $0.owner == credential.owner && $0 != credential }
        }.compactMap(\.identity)
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
