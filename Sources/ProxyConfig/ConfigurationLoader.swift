/// Turns the text of a configuration file into values, or into every error that it has.
package enum ConfigurationLoader {
    /// The largest configuration.
    package static var sizeLimit: ByteCount { YAMLText.sizeLimit }

    /// Reads a configuration as it is on disk, which may not be a text at all.
    package static func load(
        bytes: [UInt8],
        file: String,
        environment: [String: String],
        resolver: SecretResolver? = nil,
        judge: ConfigurationChecker.KeyJudge = { _, _ in nil }
    ) -> Result<ProxyConfiguration, ConfigurationErrors> {
        // Of one that is too large for a text the end may be missing.
        let isWhole = bytes.count <= sizeLimit.bytes
        guard
            let text = isWhole
                ? String(validating: bytes, as: UTF8.self) : String(decoding: bytes, as: UTF8.self)
        else { return .failure(.notText(bytes, file: file)) }
        return load(
            text: text,
            file: file,
            environment: environment,
            resolver: resolver,
            judge: judge
        )
    }

    /// Reads a configuration.
    ///
    /// Nothing is opened without a resolver: ``ConfigurationChecker`` looks at the files that it names.
    ///
    /// - Parameters:
    ///   - text: the YAML.
    ///   - file: what errors call the file.
    ///   - environment: the variables that name the default directories.
    ///   - resolver: reads the secrets and files, so that their errors are among the others.
    ///   - judge: looks at the keys among them.
    /// - Returns: the values, or all errors of one pass, in the order of the file.
    package static func load(
        text: String,
        file: String,
        environment: [String: String],
        resolver: SecretResolver? = nil,
        judge: ConfigurationChecker.KeyJudge = { _, _ in nil }
    ) -> Result<ProxyConfiguration, ConfigurationErrors> {
        let reading = Reading(file: file, completeness: .whole)
        var yaml = YAMLText(file: file)
        let root: ConfigNode?
        do throws(ConfigurationError) {
            root = try yaml.parse(text)
        } catch {
            return .failure(ConfigurationErrors(errors: sorted(yaml.duplicates.union([error]))))
        }
        guard let root, !root.isNull, root.entries != nil else {
            let found = root.map { $0.isNull ? "an empty file" : $0.found } ?? "an empty file"
            reading.report(
                "expected a map with listen, channels and other keys, found \(found)",
                at: root?.position ?? Position(line: 1, column: 1),
                key: ""
            )
            return .failure(ConfigurationErrors(errors: Array(reading.errors)))
        }
        var (configuration, errors) = read(root, environment: environment, in: reading)
        errors.formUnion(yaml.duplicates)
        if let resolver {
            errors.formUnion(
                ConfigurationChecker.check(
                    configuration,
                    file: file,
                    resolver: resolver,
                    judge: judge
                )
            )
        }
        guard errors.isEmpty else {
            return .failure(ConfigurationErrors(errors: sorted(errors), draft: configuration))
        }
        return .success(configuration)
    }

    private static func read(
        _ root: ConfigNode,
        environment: [String: String],
        in reading: Reading
    ) -> (ProxyConfiguration, Set<ConfigurationError>) {
        let section = Section<RootKey>(
            root,
            path: "",
            position: Position(line: 1, column: 1),
            in: reading
        )
        let reader = RootReader(
            root: section,
            directories: DefaultDirectories(environment: environment)
        )
        let channels = channels(of: section)
        var configuration = reader.configuration(channels: channels.map(\.configuration))
        configuration.file = reading.file
        configuration.mentions = reading.mentions
        checkListeners(of: configuration, channels.map(\.section), section)
        checkShares(of: configuration, channels.map(\.section))

        let fragment = Reading(file: reading.file, completeness: .fragment)
        if let defaults = section[.defaults] {
            _ = ChannelReader(
                name: "channel",
                channel: Section(
                    defaults,
                    path: defaults.path,
                    position: defaults.keyPosition,
                    in: fragment
                )
            ).configuration()
        }
        return (configuration, reading.errors.union(fragment.errors))
    }

    private struct Channel {
        let configuration: ChannelConfiguration
        let section: Section<ChannelKey>
    }

    private static func channels(of root: Section<RootKey>) -> [Channel] {
        guard let node = root[.channels] else {
            root.require(.channels, "at least one channel is required")
            return []
        }
        guard let entries = node.entries else {
            root.reading.report("expected a map of channels, found \(node.found)", at: node)
            return []
        }
        if entries.isEmpty { root.reading.report("at least one channel is required", at: node) }
        return entries.map { entry in
            if !TextRules.isChannelName(entry.key) {
                root.reading.report(
                    "a channel's name is lower-case letters, digits and '-', 63 at most, "
                        + "and does not begin with '-'",
                    at: entry.keyPosition,
                    key: ConfigNode.printable(entry.value.path)
                )
            }
            if entry.key == "netproxy" {
                root.reading.report(
                    "netproxy.log is the daemon's own log, so no channel can have that name",
                    at: entry.keyPosition,
                    key: ConfigNode.printable(entry.value.path)
                )
            }
            let merged = entry.value.mergedAsChannel(over: root[.defaults])
            let section = Section<ChannelKey>(
                merged,
                path: entry.value.path,
                position: entry.keyPosition,
                in: root.reading
            )
            let reader = ChannelReader(name: entry.key, channel: section)
            return Channel(configuration: reader.configuration(), section: section)
        }
    }

    private static func checkListeners(
        of configuration: ProxyConfiguration,
        _ sections: [Section<ChannelKey>],
        _ root: Section<RootKey>
    ) {
        var claims = Claims(in: root.reading)
        claims.listeners(configuration.listen, at: root[.listen])
        claims.admin(configuration.admin, at: root[.admin])
        checkPlaces(configuration.listen, at: root[.listen], of: configuration, root.reading)
        for (channel, section) in zip(configuration.channels, sections) {
            claims.channel(channel, section)
            let node = section.section(.match, MatchKey.self)[.listen]
            let own = channel.match.listen.map { [$0] } ?? []
            checkPlaces(own, at: node, of: configuration, root.reading)
        }
    }

    /// Each event loop has connections of its own: a share of the process's, and at least one.
    private static func checkShares(
        of configuration: ProxyConfiguration,
        _ sections: [Section<ChannelKey>]
    ) {
        guard case .count(let workers) = configuration.workers else { return }
        for (channel, section) in zip(configuration.channels, sections)
        where channel.pool.connections < workers {
            guard let node = section.section(.pool, PoolKey.self)[.connections] else { continue }
            section.reading.report(
                "expected at least one for each of the \(workers) workers, found \(node.found)",
                at: node
            )
        }
    }

    private static func checkPlaces(
        _ addresses: [ListenAddress],
        at node: ConfigNode?,
        of configuration: ProxyConfiguration,
        _ reading: Reading
    ) {
        guard let node else { return }
        let items = node.items ?? []
        for (index, address) in addresses.enumerated() {
            // After a faulty item the indices no longer match.
            let item = items.count == addresses.count ? items[index] : node
            if case .tcp(let endpoint) = address, !endpoint.isBindable {
                reading.report("'\(address)' has a name where an IP address must be", at: item)
            } else if !configuration.allowRemote, !address.isLocal {
                reading.report(
                    "'\(address)' is not a loopback address, set allow_remote: true",
                    at: item
                )
            }
        }
    }

    private static func sorted(_ errors: Set<ConfigurationError>) -> [ConfigurationError] {
        errors.sorted { ($0.position, $0.key, $0.message) < ($1.position, $1.key, $1.message) }
    }
}
