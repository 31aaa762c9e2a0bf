import ArgumentParser
import FoundationEssentials
import ProxyConfig
import ProxyDaemon

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Serve in the foreground until SIGTERM or SIGINT."
    )

    @OptionGroup var file: ConfigurationOption

    func run() async throws {
        // Reading secrets may take a while, and what it is told meanwhile it reads anyway.
        Daemon.ignoreNotices()
        let configuration = try file.load(by: .service)
        let path = file.config
        let daemon = Daemon(
            configuration,
            environment: ProcessInfo.processInfo.environment,
            inherited: InheritedSockets(ProcessInfo.processInfo.environment),
            console: Terminal.isStandardOutput ? Terminal.console : .off,
            report: { StandardError.report("netproxy: \($0)") },
            reload: { ConfigurationFile(path: path, reader: .service).read() }
        )
        do {
            try await daemon.start(handlesSignals: true)
        } catch let errors as ConfigurationErrors {
            // What a program has not printed now it may the next time: systemd tries again behind 1.
            for error in errors.errors { StandardError.report("\(error)") }
            throw ExitCode.failure
        } catch {
            StandardError.report("netproxy: \(error)")
            throw ExitCode.failure
        }
        for address in await daemon.addresses {
            StandardError.report("netproxy: listening on \(address)")
        }
        await daemon.waitUntilStopped()
    }
}

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Validate the configuration and every file it names; change nothing."
    )

    @OptionGroup var file: ConfigurationOption

    func run() throws {
        let configuration = try file.load()
        for warning in PublicSecrets.warnings(in: configuration) {
            StandardError.write("\(warning)")
        }
        try StandardOutput.write(
            "the configuration is valid: \(DaemonStatus.count(configuration.channels.count, "channel"))"
        )
    }
}
