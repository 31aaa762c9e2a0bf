/// Parses the text of a configuration file into values, or into a list of all its errors.
///
/// Of the files that the configuration names, it opens only those of `include`. Secrets and other files are
/// listed in ``ProxyConfiguration/mentions``, for the daemon to check.
package enum ConfigurationLoader {
    /// The maximum size of a configuration.
    package static var sizeLimit: ByteCount { YAMLText.sizeLimit }

    /// Reads the bytes of a configuration file, which may not be valid UTF-8.
    package static func load(
        bytes: [UInt8],
        file: String,
        environment: [String: String],
        included: IncludedFiles = .onDisk
    ) -> Result<ProxyConfiguration, ConfigurationErrors> {
        do throws(ConfigurationErrors) {
            let text = try YAMLText.text(of: bytes, file: file)
            return load(text: text, file: file, environment: environment, included: included)
        } catch {
            return .failure(error)
        }
    }

    /// Returns the error for a file that may be incomplete, or `nil` if it is complete.
    ///
    /// A prefix of a YAML file is often valid, without the `access` of its last channel. A file that another
    /// process is writing in place, or that a full disk cut off, must not take effect. A file that ends with
    /// a bracket is complete: JSON, or a map in braces.
    package static func cutOff(_ bytes: [UInt8], file: String) -> ConfigurationErrors? {
        guard let last = bytes.last, last != UInt8(ascii: "\n"), last != UInt8(ascii: "\r"),
            last != UInt8(ascii: "}")
        else { return nil }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let error = ConfigurationError(
            file: file,
            position: Position(line: lines.count, column: (lines.last?.count ?? 0) + 1),
            key: "",
            message:
                "the last line has no line end, so the file may be cut off; end it with a newline"
        )
        return ConfigurationErrors([error])
    }

    /// Returns the error for a file that another process changed during the read.
    package static func changing(_ file: String) -> ConfigurationErrors {
        let error = ConfigurationError(
            file: file,
            position: .start,
            key: "",
            message: "the file changed while it was read; try again"
        )
        return ConfigurationErrors([error])
    }

    /// Reads a configuration.
    ///
    /// - Parameters:
    ///   - text: the YAML.
    ///   - file: the name of the file in errors.
    ///   - environment: the variables that determine the default directories.
    ///   - included: reads the files of `include`.
    /// - Returns: the values, or all errors found in one pass, in the order of the file.
    package static func load(
        text: String,
        file: String,
        environment: [String: String],
        included: IncludedFiles = .onDisk
    ) -> Result<ProxyConfiguration, ConfigurationErrors> {
        let reading = Reading(files: [file], completeness: .whole)
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
        let merged = Inclusion(reading: reading, files: included).merged(into: root)
        let (configuration, errors) = read(merged, environment: environment, in: reading)
        let all = errors.union(yaml.duplicates)
        guard all.isEmpty else { return .failure(ConfigurationErrors(all, draft: configuration)) }
        return .success(configuration)
    }

    private static func read(
        _ root: ConfigNode,
        environment: [String: String],
        in reading: Reading
    ) -> (ProxyConfiguration, Set<ConfigurationError>) {
        let section = Section<RootKeys>(root, path: "", position: .start, in: reading)
        let directories = DefaultDirectories(environment: environment)
        let identities = IdentityReader(root: section).directory()
        let channels = channels(of: section, identities)
        identities.reportUnused(in: reading)
        let checks = CrossChecks(root: section, channels: channels.map(\.section))
        let reader = RootReader(root: section, directories: directories)
        var configuration = reader.configuration(channels: channels.map(\.configuration))
        configuration.identities = identities.identities
        configuration.files = reading.files
        configuration.written = written(root)
        configuration.mentions = reading.mentions
        checks.run(on: configuration)
        return (configuration, reading.errors.union(errorsOfDefaults(in: section, identities)))
    }

    /// The values of the process and of each channel.
    private static func written(_ root: ConfigNode) -> WrittenValues {
        var written = WrittenValues(channelDefaults: ConfigurationSchema.channelDefaults)
        let keys = RootKeys.table.keys
        let defaults = root.child(keys.defaults.name)
        for entry in root.entries ?? [] {
            switch entry.key {
            case keys.channels.name:
                for channel in entry.value.entries ?? [] {
                    written.add(
                        channel.value.mergedAsChannel(over: defaults, reporting: nil),
                        at: "channels.\(channel.key)",
                        .map(ChannelKeys.self)
                    )
                }
            case keys.defaults.name, keys.include.name: break
            case let key:
                guard let shape = RootKeys.shape(of: key) else { continue }
                written.add(entry.value, at: key, shape)
            }
        }
        return written
    }

    /// Returns the errors of `defaults` read without a channel, because unused defaults are checked too.
    private static func errorsOfDefaults(
        in root: Section<RootKeys>,
        _ identities: IdentityDirectory
    ) -> Set<ConfigurationError> {
        guard let defaults = root.defaults.node else { return [] }
        let fragment = Reading(files: root.reading.files, completeness: .fragment)
        let section = Section<ChannelKeys>(
            defaults,
            path: defaults.path,
            position: defaults.keyPosition,
            in: fragment
        )
        _ = ChannelReader(name: "channel", channel: section, identities: identities).configuration()
        return fragment.errors
    }

    private struct Channel {
        let configuration: ChannelConfiguration
        let section: Section<ChannelKeys>
    }

    private static func channels(
        of root: Section<RootKeys>,
        _ identities: IdentityDirectory
    ) -> [Channel] {
        root.channels.requireWritten("at least one channel is required")
        if root.channels.node?.entries?.isEmpty == true {
            root.channels.report("at least one channel is required")
        }
        return root[\.channels].map { entry in
            checkName(of: entry, in: root.reading)
            let section = Section<ChannelKeys>(
                entry.value.mergedAsChannel(over: root.defaults.node, reporting: root.reading),
                path: entry.value.path,
                position: entry.keyPosition,
                in: root.reading
            )
            let reader = ChannelReader(
                name: entry.key,
                channel: section,
                identities: identities
            )
            let channel = Channel(configuration: reader.configuration(), section: section)
            checkName(of: channel, against: identities)
            return channel
        }
    }

    /// Reports a channel with the name of an unrelated identity: commands accept either name and must resolve
    /// it.
    private static func checkName(of channel: Channel, against identities: IdentityDirectory) {
        let name = channel.configuration.name
        guard identities[name] != nil,
            channel.configuration.credentials.allSatisfy({ $0.identity != name })
        else { return }
        channel.section.reading.report(
            "an identity has this name, too, and the channel does not use it: rename one of them",
            at: Place(position: channel.section.position, key: channel.section.keyPath)
        )
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
