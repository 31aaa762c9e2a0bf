import ArgumentParser
import FoundationEssentials
import NetproxyChannels
import NetproxyCommands
import NetproxyConfig
import NetproxyPath
import NetproxyRequestLog
import NetproxyService
import NetproxySystem

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run the proxy in the foreground until SIGTERM or SIGINT."
    )

    @OptionGroup var file: ConfigurationOption

    func run() async throws {
        // Reading secrets may take a while; the start reads everything anyway.
        Daemon.ignoreNotices()
        let configuration = try file.load(.textAndOwnFiles, by: .service)
        let (path, environment) = (file.config, ProcessInfo.processInfo.environment)
        var setup = DaemonSetup(
            report: { StandardError.report("netproxy: \($0)") },
            readConfiguration: {
                ConfigurationFile(path: path, reader: .service).read(.textAndOwnFiles)
            }
        )
        setup.environment = environment
        setup.inherited = InheritedSockets(environment)
        setup.console = Terminal.isStandardOutput ? Terminal.console : .off
        let daemon = Daemon(configuration, setup)
        do {
            try await daemon.start(handlesSignals: true)
        } catch let errors as ConfigurationErrors {
            // The secret's helper program may succeed the next time: systemd restarts the service after 1,
            // not after 78.
            for error in errors.errors { StandardError.report("\(error)") }
            throw ExitCode.failure
        } catch {
            StandardError.report("netproxy: \(error)")
            throw ExitCode.failure
        }
        for address in await daemon.addresses {
            StandardError.report("netproxy: listening on \(address)")
        }
        for place in await daemon.adminPlaces {
            StandardError.report("netproxy: admin at \(place)")
        }
        report(configuration)
        let notes = [
            OpenChannels.warning(in: configuration),
            IgnoredProxy.note(on: configuration, in: environment),
        ]
        for note in notes.compactMap({ $0 }) { StandardError.report("netproxy: \(note)") }
        await daemon.waitUntilStopped()
    }

    /// Reports the URL of each channel; after eight, only the number of the others.
    private func report(_ configuration: ProxyConfiguration) {
        let entrances = Entrances(configuration)
        let shown = configuration.channels.prefix(8)
        for channel in shown {
            guard let url = entrances.url(of: channel.name) else { continue }
            let upstream =
                channel.upstreams.first.map { "→ \($0.origin)\($0.basePath)" } ?? "(sample data)"
            StandardError.report("netproxy: \(url) \(upstream)")
        }
        let others = configuration.channels.count - shown.count
        if others > 0 {
            StandardError.report("netproxy: and \(others) more; netproxy status shows all")
        }
    }
}

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the configuration and every file it names, without changing anything."
    )

    @OptionGroup var file: ConfigurationOption
    @Argument(help: "The configuration file, instead of --config.", completion: .file())
    var path: String?
    @Option(
        help: ArgumentHelp(
            "Look with this user's permissions, such as the service's; requires root.",
            valueName: "name"
        )
    )
    var user: String?

    @Flag(
        help: """
            Also connect to each upstream, and ask each token endpoint once. No upstream gets a credential, and no \
            refresh token is used.
            """
    )
    var online = false

    @Flag(help: "Print a JSON Schema of the configuration for editors, and check nothing.")
    var schema = false

    func validate() throws {
        guard path == nil || file.config == nil else {
            throw ValidationError("a file and --config cannot be combined")
        }
        guard !schema || !online && user == nil else {
            throw ValidationError("--schema checks nothing: leave out --online and --user")
        }
        guard path != "" else { throw ValidationError("the file requires a path") }
    }

    func run() async throws {
        if schema { return try StandardOutput.write(bytes: Array(JSONSchema.text.utf8)) }
        var file = file
        if let path { file.config = path }
        try user.map(assume)
        let configuration = try file.load()
        for remark in file.remarks(on: configuration) { StandardError.write(remark) }
        try StandardOutput.write(
            "\(file.path): the configuration is valid: "
                + Wording.count(configuration.channels.count, "channel")
        )
        if online { try await tryOut(configuration, file.environment) }
    }

    private func tryOut(
        _ configuration: ProxyConfiguration,
        _ environment: [String: String]
    ) async throws {
        let check = try OnlineCheck(configuration, environment: environment)
        let outcomes = await check.run()
        check.close()
        for outcome in outcomes where !outcome.isFailure { try StandardOutput.write("\(outcome)") }
        let failures = outcomes.filter(\.isFailure)
        for failure in failures { StandardError.write("\(failure)") }
        if !failures.isEmpty { throw ExitCode.failure }
    }

    /// Assumes a user's permissions for the rest of the process.
    private func assume(_ name: String) throws {
        guard let account = UserAccount.named(name) else {
            try StandardError.fail("there is no user '\(name)'", .validationFailure)
        }
        do throws(FileError) {
            try account.assume()
        } catch {
            try StandardError.fail("--user \(name) requires root: \(error.reason)")
        }
    }
}
