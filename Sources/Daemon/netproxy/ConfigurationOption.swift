import ArgumentParser
import FoundationEssentials
import NetproxyChannels
import NetproxyCommands
import NetproxyConfig
import NetproxyPath
import NetproxySystem

/// The option of every command that reads a configuration.
struct ConfigurationOption: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The configuration file.",
            discussion: """
                Default: $NETPROXY_CONFIG, then netproxy/netproxy.yaml in $XDG_CONFIG_HOME \
                (~/.config), then that of a running netproxy demo of the same user (not for run), then \
                /etc/netproxy/netproxy.yaml.
                """,
            valueName: "file"
        ),
        completion: .file()
    )
    var config: String?

    func validate() throws {
        guard config != "" else { throw ValidationError("--config requires a path") }
    }

    /// Reads the configuration.
    ///
    /// - Parameters:
    ///   - checks: whether to check also the files and secrets that the configuration names.
    ///   - reader: the process that reads it.
    /// - Returns: the configuration.
    /// - Throws: exit status 78, after printing every error on standard error.
    func load(
        _ checks: ConfigurationFile.Checks = .textAndFiles,
        by reader: ConfigurationFile.Reader = .command
    ) throws -> ProxyConfiguration {
        let file = ConfigurationFile(path: config, reader: reader)
        do {
            return try file.read(checks).get()
        } catch {
            error.print()
            throw ExitStatus.configuration
        }
    }

    /// Reads the daemon's admin addresses, also from an invalid file, because the daemon still runs with the
    /// last valid one.
    ///
    /// - Returns: the addresses, and whether the file is valid; if it is not, all errors have been printed.
    /// - Throws: exit status 78 if the addresses cannot be read.
    func admin() throws -> (addresses: [AdminAddress], isValid: Bool) {
        let file = ConfigurationFile(path: config, reader: .command)
        do {
            return (try file.read(.text).get().admin, true)
        } catch {
            error.print()
            guard let admin = error.admin else { throw ExitStatus.configuration }
            return (admin, false)
        }
    }
}

extension ConfigurationOption {
    /// Reads the configuration for a read-only command; the rest of the file may be invalid.
    ///
    /// - Parameter keys: the keys that must be valid, with all keys below them.
    /// - Returns: the configuration; if it is partly invalid, all errors have been printed.
    /// - Throws: exit status 78 if one of the keys is invalid.
    func glance(trusting keys: String...) throws -> ProxyConfiguration {
        let file = ConfigurationFile(path: config, reader: .command)
        do {
            return try file.read(.text).get()
        } catch {
            error.print()
            guard let draft = error.draft, !error.concerns(keys) else {
                throw ExitStatus.configuration
            }
            return draft
        }
    }
}

extension ConfigurationOption {
    /// Whether the file is that of the system's service, and this user has no permission to read it.
    var isForbidden: Bool { ConfigurationFile(path: config, reader: .command).isForbidden }

    /// Returns the remarks of `check` on a valid file.
    func remarks(on configuration: ProxyConfiguration) -> [String] {
        ConfigurationFile(path: config, reader: .command).remarks(on: configuration)
    }

    /// The path of the file that the command reads.
    var path: String { ConfigurationFile(path: config, reader: .command).path }
}

extension ConfigurationErrors {
    /// Prints one error per line.
    fileprivate func print() {
        for error in errors { StandardError.write("\(error)") }
    }
}

extension ConfigurationOption {
    /// The environment in which a command looks up secrets: its own variables and the service's directories.
    var environment: [String: String] {
        ConfigurationFile(path: config, reader: .command).environment
    }
}

extension ProxyConfiguration {
    /// Checks that channels named on the command line exist.
    ///
    /// - Throws: exit status 64, after printing the missing channel and the existing ones.
    func require(_ names: [String]) throws {
        try UnknownChannel.require(names, channels.map(\.name))
    }

    /// Checks that a name on the command line is that of a channel or an identity.
    ///
    /// - Throws: exit status 64, like `require`.
    func requireCredential(_ name: String) throws {
        try UnknownChannel.require([name], identities.map(\.name) + channels.map(\.name))
    }
}

extension UnknownChannel {
    /// Checks that names are among those present, like `ProxyConfiguration.require`.
    static func require(_ names: [String], _ present: [String]) throws {
        for name in names where !present.contains(name) {
            let unknown = UnknownChannel(name: name, present: present)
            try StandardError.fail(unknown.description, .validationFailure)
        }
    }
}

/// The configuration on disk.
struct ConfigurationFile: Sendable {
    let environment: [String: String]
    let path: String
    private let isNamed: Bool
    private let reader: Reader

    /// The extent of the check.
    enum Checks {
        case text
        /// Also the files and secrets of the daemon itself; those of channels may be missing.
        case textAndOwnFiles
        /// Also all files and secrets that the configuration names.
        case textAndFiles
    }

    /// The process that reads a configuration.
    enum Reader {
        /// The service, which receives its directories from systemd.
        case service
        /// Any other command, which uses the directories of the unit file.
        case command
    }

    init(path: String?, reader: Reader) {
        let environment = ProcessInfo.processInfo.environment
        self.reader = reader
        isNamed = path != nil || environment["NETPROXY_CONFIG"]?.isEmpty == false
        let path = ConfigurationLocator.path(explicit: path, environment: environment) {
            // The service must not become a second demo.
            reader == .command ? DemoDirectory.running(environment) : nil
        }
        self.environment =
            reader == .service
            ? environment
            : ConfigurationLocator.serviceEnvironment(environment, configuration: path)
        self.path = path
    }

    /// Reads and checks the configuration and the files that it names.
    func read(_ checks: Checks = .textAndFiles) -> Result<ProxyConfiguration, ConfigurationErrors> {
        let bytes: [UInt8]
        do throws(ConfigurationErrors) {
            bytes = try whole(path, checks) {
                .unreadable(
                    path,
                    missing: isNamed || path != ConfigurationLocator.system
                        ? nil : ConfigurationLocator.personal(environment)
                )
            }
        } catch {
            return .failure(error)
        }
        let loaded = ConfigurationLoader.load(
            bytes: bytes,
            file: path,
            environment: environment,
            included: IncludedFiles { path throws(ConfigurationErrors) in
                try whole(path, checks) { .unreadable(included: path) }
            }
        )
        switch checks {
        case .text: return loaded
        case .textAndOwnFiles, .textAndFiles:
            let resolver = SecretResolver(environment: environment)
            // Outside of systemd, the credentials of a service cannot be read.
            let isOutside = reader == .command && !resolver.hasCredentials
            return ConfigurationChecker(
                resolver: resolver,
                credentials: isOutside ? .unchecked : .checked,
                scope: checks == .textAndOwnFiles ? .daemon : .everything
            ).check(loaded)
        }
    }

    /// Returns all bytes of a file.
    private func whole(
        _ path: String,
        _ checks: Checks,
        orElse unreadable: () -> ConfigurationErrors
    ) throws(ConfigurationErrors) -> [UInt8] {
        switch Self.contents(path) {
        case .whole(let bytes):
            // Commands that do not check the configuration read it as far as they can.
            if checks != .text, let error = ConfigurationLoader.cutOff(bytes, file: path) {
                throw error
            }
            return bytes
        case .changing: throw ConfigurationLoader.changing(path)
        case .unreadable: throw unreadable()
        }
    }

    /// Whether the file is that of the system's service, and this user has no permission to read it.
    var isForbidden: Bool {
        guard path == ConfigurationLocator.system else { return false }
        do throws(FileError) {
            _ = try FileDescriptor(path, .stream)
            return false
        } catch {
            return error.isForbidden
        }
    }

    /// Returns the remarks of `check` on a valid file.
    func remarks(on configuration: ProxyConfiguration) -> [String] {
        var remarks = PublicSecrets.warnings(in: configuration).map(\.description)
        if let warning = OpenChannels.warning(in: configuration) {
            remarks.append("note: \(warning)")
        }
        if !SecretResolver(environment: environment).hasCredentials {
            remarks += configuration.credentialNotes.map(\.description)
        }
        remarks += configuration.containerNotes(in: environment).map(\.description)
        return remarks + ProxyExceptions.warnings(for: configuration, in: environment)
    }

    private enum Contents {
        case whole([UInt8])
        /// Another process wrote to the file during the read.
        case changing
        case unreadable
    }

    /// Reads the file, which may be a pipe (`--config <(…)`, `/dev/stdin`).
    ///
    /// Stops slightly above the size limit, so that an endless file is refused for its size.
    private static func contents(_ path: String) -> Contents {
        let before: FileStatus?
        let bytes: [UInt8]
        do throws(FileError) {
            let file = try FileDescriptor(path, .stream)
            before = status(path)
            bytes = try file.read(upTo: ConfigurationLoader.sizeLimit.bytes + 1)
        } catch {
            return .unreadable
        }
        guard let before, before.isRegular, bytes.count <= ConfigurationLoader.sizeLimit.bytes
        else {
            return .whole(bytes)
        }
        // A file replaced in one step was complete.
        guard let after = status(path), after.isSameFile(as: before) else { return .whole(bytes) }
        let isSame = after.isUnchanged(since: before) && after.size == bytes.count
        return isSame ? .whole(bytes) : .changing
    }

    private static func status(_ path: String) -> FileStatus? {
        do throws(FileError) { return try FileStatus.of(path: path) } catch { return nil }
    }
}
