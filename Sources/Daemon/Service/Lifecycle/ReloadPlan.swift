import NetproxyChannels
import NetproxyConfig
import NetproxySystem
import NetworkCore

/// The changes that a reload would make.
///
/// Not `Sendable`: it reads the daemon's `Serving`.
struct ReloadPlan {
    private let serving: Serving

    init(_ serving: Serving) {
        self.serving = serving
    }

    /// Returns the channels and keys that a reload would change, one line each.
    func lines() async -> Result<[String], ReloadFailure> {
        let next: ProxyConfiguration
        switch await OffLoop.run({ [setup = serving.setup] in setup.readConfiguration() }) {
        case .success(let read): next = read
        case .failure(let error):
            return .failure(ReloadFailure(lines: error.errors.map(\.description)))
        }
        // Use a separate reader: a reload may be reading at the same time.
        let secrets = serving.assembly.map { SecretReader($0.secrets.resolver) }
        let inForce = serving.inForce
        let present = inForce.current.channels
        let known = Dictionary(
            present.map { ($0.name, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        var lines = next.written.changes(from: inForce.current.written, channel: nil)
        for channel in next.channels {
            guard let known = known[channel.name] else {
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
        let names = Set(next.channels.map(\.name))
        for channel in present where !names.contains(channel.name) {
            lines.append("removed: \(channel.name)")
        }
        return .success(lines.isEmpty ? ["nothing would change: \(next.file)"] : lines)
    }

    /// Returns the keys whose secrets and files have changed since the channel was assembled, one line each.
    ///
    /// The result is `nil` if none has changed. An unreadable secret counts as changed; the reload will
    /// report it.
    private func renewedInputs(
        of wanted: ChannelConfiguration,
        in next: ProxyConfiguration,
        _ secrets: SecretReader?
    ) async -> [String]? {
        guard let channel = serving.channels[wanted.name], let secrets,
            let assembly = serving.assembly
        else { return [] }
        let reading = await assembly.inputs.read(wanted, of: next, with: secrets)
        let (inputs, unreadable) = (reading.inputs, reading.unread)
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
    /// Returns the channel's identities that have changed.
    fileprivate func changedIdentities(since earlier: ChannelConfiguration) -> [String] {
        credentials.filter { credential in
            earlier.credentials.contains { $0.owner == credential.owner && $0 != credential }
        }.compactMap(\.identity)
    }
}
