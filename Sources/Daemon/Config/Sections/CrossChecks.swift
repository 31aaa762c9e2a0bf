/// The checks across sections: for listeners that collide or are remote, and for pools smaller than
/// `workers`.
struct CrossChecks {
    let root: Section<RootKeys>
    /// The sections of the channels, in the order of the file.
    let channels: [Section<ChannelKeys>]

    func run(on configuration: ProxyConfiguration) {
        checkListeners(of: configuration)
        checkPools(of: configuration)
    }

    private func checkListeners(of configuration: ProxyConfiguration) {
        var claims = Claims(in: root.reading)
        claims.listeners(configuration.listen, at: root.listen.node)
        claims.admin(configuration.admin, at: root.admin.node)
        checkReach(of: configuration.listen, at: root.listen.node, configuration)
        for (channel, section) in zip(configuration.channels, channels) {
            claims.channel(channel, section)
            let node = section[\.match].listen.node
            checkReach(of: channel.match.listen.map { [$0] } ?? [], at: node, configuration)
        }
    }

    /// Checks that addresses can be bound, and that they are local unless `allow_remote` is set.
    private func checkReach(
        of addresses: [ListenAddress],
        at node: ConfigNode?,
        _ configuration: ProxyConfiguration
    ) {
        guard let node else { return }
        let items = node.items ?? []
        for (index, address) in addresses.enumerated() {
            // An invalid item is missing from the addresses, so the indices no longer match.
            let item = items.count == addresses.count ? items[index] : node
            if case .tcp(let endpoint) = address, !endpoint.isBindable {
                root.reading.report("'\(address)' has a name where an IP address must be", at: item)
            } else if !configuration.allowRemote, !address.isLocal {
                root.reading.report(
                    "'\(address)' is not a loopback address, set allow_remote: true",
                    at: item
                )
            }
        }
    }

    /// Checks that each event loop has at least one connection of a pool.
    private func checkPools(of configuration: ProxyConfiguration) {
        guard case .count(let workers) = configuration.workers else { return }
        for (channel, section) in zip(configuration.channels, channels)
        where channel.pool.connections < workers {
            guard let node = section[\.pool].connections.node else { continue }
            root.reading.report(
                "expected at least one for each of the \(workers) workers, found \(node.found)",
                at: node
            )
        }
    }
}
