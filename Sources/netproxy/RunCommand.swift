import ArgumentParser
import FoundationEssentials
import ProxyConfig
import ProxyDaemon

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run the proxy in the foreground until SIGTERM or SIGINT."
    )

    @OptionGroup var file: ConfigurationOption

    func run() async throws {
        // Reading secrets may take a while; a start reads everything anyway.
        Daemon.ignoreNotices()
        let configuration = try file.load(by: .service)
        let (path, environment) = (file.config, ProcessInfo.processInfo.environment)
        var setup = DaemonSetup(
            report: { StandardError.report("netproxy: \($0)") },
            readConfiguration: { ConfigurationFile(path: path, reader: .service).read() }
        )
        setup.environment = environment
        setup.inherited = InheritedSockets(environment)
        setup.console = Terminal.isStandardOutput ? Terminal.console : .off
        let daemon = Daemon(configuration, setup)
        do {
            try await daemon.start(handlesSignals: true)
        } catch let errors as ConfigurationErrors {
            // A secret's program may succeed the next time: systemd restarts the service after 1, not after 78.
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
        if let warning = OpenChannels.warning(in: configuration) {
            StandardError.report("netproxy: \(warning)")
        }
        await daemon.waitUntilStopped()
    }
}

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the configuration and every file it names, without changing anything."
    )

    @OptionGroup var file: ConfigurationOption
    @Argument(help: "The configuration file, instead of --config.", completion: .file())
    var path: String?

    func validate() throws {
        guard path == nil || file.config == nil else {
            throw ValidationError("a file and --config cannot be combined")
        }
        guard path != "" else { throw ValidationError("the file requires a path") }
    }

    func run() throws {
        var file = file
        if let path { file.config = path }
        let configuration = try file.load()
        for remark in file.remarks(on: configuration) { StandardError.write(remark) }
        try StandardOutput.write(
            "the configuration is valid: \(DaemonStatus.count(configuration.channels.count, "channel"))"
        )
    }
}
