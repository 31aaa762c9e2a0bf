import ArgumentParser
import FoundationEssentials
import NetproxyCommands
import NetproxyConfig
import NetproxyService

struct ExecCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exec",
        abstract: "Run a program with proxy variables and a temporary key.",
        discussion: """
            Sets http_proxy and HTTP_PROXY with a key that is revoked when the program exits, \
            no_proxy, NETPROXY_KEY, and for each channel NETPROXY_<CHANNEL>_URL, which stands for \
            the upstream's base URL: use them as API key and base URL of a client library; and the \
            variables of each channel's exec. The exit code is that of the program.

            With --with NAME, a built-in provider (netproxy preset), no configuration and no daemon are \
            needed: netproxy exec --with anthropic -- claude
            """
    )

    @OptionGroup var file: ConfigurationOption
    @Option(
        name: .customLong("channel"),
        help: """
            A channel that the key is for; may be repeated. Default: all channels, except those \
            with access.key if the admin address is a port.
            """,
        completion: .channels
    )
    var channels: [String] = []
    @Option(
        name: .customLong("as"),
        help: "The identity to use where a channel has several.",
        completion: .credentials
    )
    var identity: String?
    @OptionGroup var presets: PresetOptions
    @Argument(parsing: .postTerminator, help: "The program and its arguments, after --.")
    var command: [String] = []

    func validate() throws {
        guard !command.isEmpty else {
            throw ValidationError("expected a program after --: netproxy exec -- PROGRAM")
        }
        guard presets.names.isEmpty || channels.isEmpty && identity == nil else {
            throw ValidationError("--with cannot be combined with --channel or --as")
        }
    }

    func run() async throws {
        if !presets.names.isEmpty { try await presets.run(command, file) }
        var session = AdminSession.service
        if !file.isForbidden {
            let configuration = try file.load(.text)
            try configuration.require(channels)
            session = AdminSession(configuration)
        }
        let query = AdminQuery(
            channels.map { (name: "channel", value: $0) }
                + (identity.map { [(name: "as", value: $0)] } ?? [])
        )
        let held = try await session.hold(.keys, query)
        defer { held.close() }
        let lease = try session.understood(ClientLease(json: held.answer.text))
        try await LeasedProgram.run(command, lease)
    }
}

/// A program with the variables of a lease.
enum LeasedProgram {
    /// Runs the program in the foreground, and ends the command with its exit code.
    ///
    /// - Parameters:
    ///   - command: the program and its arguments.
    ///   - lease: the key and the addresses.
    ///   - withheld: variables that the program does not inherit.
    /// - Throws: the exit code.
    static func run(
        _ command: [String],
        _ lease: ClientLease,
        withholding withheld: [String] = []
    ) async throws -> Never {
        var inherited = ProcessInfo.processInfo.environment
        for name in withheld { inherited[name] = nil }
        for warning in lease.warnings(adding: inherited) {
            StandardError.write("netproxy: \(warning)")
        }
        let environment = lease.environment(adding: inherited)
        switch await ForegroundProgram.run(command, environment: environment) {
        case .ended(let code): throw ExitCode(code)
        case .notStarted(let code, let reason): try StandardError.fail(reason, ExitCode(code))
        }
    }
}
