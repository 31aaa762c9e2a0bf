import ProxyConfig

/// What a reload would do, without doing it.
extension Daemon {
    /// Whether a reload would make the channel anew; a secret that cannot be read is for the reload
    /// to tell.
    private func isChanged(
        _ wanted: ChannelConfiguration,
        comparedTo present: ChannelConfiguration,
        _ secrets: SecretReadings?
    ) async -> Bool {
        guard wanted == present else { return true }
        guard let shared = channels.first(where: { $0.name == wanted.name }),
            let secrets, let assembly
        else { return true }
        var isReadable = true
        let inputs = await assembly.inputs(of: wanted, reading: secrets) { _, _ in
            isReadable = false
        }
        return !isReadable || shared.inputs != inputs
    }

    /// Which channels a reload would change.
    package func plan() async -> Result<[String], ReloadFailure> {
        switch reloadConfiguration() {
        case .failure(let errors):
            return .failure(ReloadFailure(lines: errors.errors.map(\.description)))
        case .success(let next):
            // Of its own: a reload may be reading at the same time.
            let secrets = assembly.map { SecretReadings($0.secrets.resolver) }
            var lines: [String] = []
            for channel in next.channels {
                let present = configuration.channels.first { $0.name == channel.name }
                if present == nil { lines.append("added: \(channel.name)") }
                if let present, await isChanged(channel, comparedTo: present, secrets) {
                    lines.append("changed: \(channel.name)")
                }
            }
            for channel in configuration.channels
            where !next.channels.contains(where: { $0.name == channel.name }) {
                lines.append("removed: \(channel.name)")
            }
            return .success(lines.isEmpty ? ["no channel would change: \(next.file)"] : lines)
        }
    }
}
