/// Turns the text of a configuration file into values, or into a list of all its errors.
///
/// It opens no file: the secrets and files that the configuration names are listed in
/// ``ProxyConfiguration/mentions``, for the daemon to check.
package enum ConfigurationLoader {
    /// The largest configuration.
    package static var sizeLimit: ByteCount { YAMLText.sizeLimit }

    /// Reads the bytes of a configuration file, which may not be valid UTF-8.
    package static func load(
        bytes: [UInt8],
        file: String,
        environment: [String: String]
    ) -> Result<ProxyConfiguration, ConfigurationErrors> {
        // A file above the limit may be cut off anywhere; it is refused for its size.
        let isWhole = bytes.count <= sizeLimit.bytes
        guard
            let text = isWhole
                ? String(validating: bytes, as: UTF8.self) : String(decoding: bytes, as: UTF8.self)
        else { return .failure(.invalidUTF8(bytes, file: file)) }
        return load(text: text, file: file, environment: environment)
    }

    /// Reads a configuration.
    ///
    /// - Parameters:
    ///   - text: the YAML.
    ///   - file: the name of the file in errors.
    ///   - environment: the variables that determine the default directories.
    /// - Returns: the values, or all errors found in one pass, in the order of the file.
    package static func load(
        text: String,
        file: String,
        environment: [String: String]
    ) -> Result<ProxyConfiguration, ConfigurationErrors> {
        let reading = Reading(file: file, completeness: .whole)
        var yaml = YAMLText(file: file)
        let root: ConfigNode?
        do throws(ConfigurationError) {
            root = try yaml.parse(text)
        } catch {
            return .failure(ConfigurationErrors(yaml.duplicates.union([error])))
        }
        guard let root, !root.isNull, root.entries != nil else {
            let found = root.map { $0.isNull ? "an empty file" : $0.found } ?? "an empty file"
            reading.report(
                "expected a map with listen, channels and other keys, found \(found)",
                at: Place(position: root?.position ?? .start, key: "")
            )
            return .failure(ConfigurationErrors(reading.errors))
        }
        let (configuration, errors) = read(root, environment: environment, in: reading)
        let all = errors.union(yaml.duplicates)
        guard all.isEmpty else { return .failure(ConfigurationErrors(all, draft: configuration)) }
        return .success(configuration)
    }

    private static func read(
        _ root: ConfigNode,
        environment: [String: String],
        in reading: Reading
    ) -> (ProxyConfiguration, Set<ConfigurationError>) {
        let section = Section<RootKey>(root, path: "", position: .start, in: reading)
        let directories = DefaultDirectories(environment: environment)
        let channels = channels(of: section)
        let checks = CrossChecks(root: section, channels: channels.map(\.section))
        let reader = RootReader(root: section, directories: directories)
        var configuration = reader.configuration(channels: channels.map(\.configuration))
        configuration.file = reading.file
        configuration.mentions = reading.mentions
        checks.run(on: configuration)
        return (configuration, reading.errors.union(errorsOfDefaults(in: section)))
    }

    /// The errors of `defaults` read without a channel: unused defaults are checked too.
    private static func errorsOfDefaults(in root: Section<RootKey>) -> Set<ConfigurationError> {
        guard let defaults = root[.defaults] else { return [] }
        let fragment = Reading(file: root.reading.file, completeness: .fragment)
        let section = Section<ChannelKey>(
            defaults,
            path: defaults.path,
            position: defaults.keyPosition,
            in: fragment
        )
        _ = ChannelReader(name: "channel", channel: section).configuration()
        return fragment.errors
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
            checkName(of: entry, in: root.reading)
            let section = Section<ChannelKey>(
                entry.value.mergedAsChannel(over: root[.defaults]),
                path: entry.value.path,
                position: entry.keyPosition,
                in: root.reading
            )
            let reader = ChannelReader(name: entry.key, channel: section)
            return Channel(configuration: reader.configuration(), section: section)
        }
    }

    private static func checkName(of channel: ConfigNode.Entry, in reading: Reading) {
        let message: String
        if !TextRules.isChannelName(channel.key) {
            message =
                "a channel name has 1 to 63 lower-case letters, digits and '-', "
                + "and does not begin with '-'"
        } else if channel.key == "netproxy" {
            message = "'netproxy' is reserved: netproxy.log is the daemon's own log"
        } else {
            return
        }
        reading.report(
            message,
            at: Place(
                position: channel.keyPosition,
                key: ConfigNode.printable(channel.value.path)
            )
        )
    }
}
