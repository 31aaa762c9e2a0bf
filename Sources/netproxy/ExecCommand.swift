import ArgumentParser
import FoundationEssentials
import ProxyConfig
import ProxyDaemon

struct ExecCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exec",
        abstract: "Run a program with proxy variables and a key of its own.",
        discussion: """
            Sets http_proxy and HTTP_PROXY with a key that ends with the program, no_proxy, \
            NETPROXY_KEY, and for each channel NETPROXY_<CHANNEL>_URL, which stands for the \
            upstream's base: what a client library takes as its API key and base URL. The exit code is the program's.
            """
    )

    @OptionGroup var file: ConfigurationOption
    @Option(
        name: .customLong("channel"),
        help: """
            A channel that the key is for, others refuse it; all, if none is, but those with \
            access.key where the admin address is a port.
            """,
        completion: .channels
    )
    var channels: [String] = []
    @Argument(parsing: .postTerminator, help: "The program and its arguments, behind --.")
    var command: [String] = []

    func validate() throws {
        guard !command.isEmpty else { throw ValidationError("expected a program behind --") }
    }

    func run() async throws {
        let configuration = try file.load(.text)
        try configuration.require(channels)
        let session = AdminSession(configuration)
        let names = channels.map { "channel=" + AdminClient.pathSegment($0) }
        let held = try await session.hold("POST", "/keys?" + names.joined(separator: "&"))
        defer { held.close() }
        let lease = try session.understood(ClientLease(json: held.answer.text))
        if let warning = lease.warning { StandardError.write("netproxy: \(warning)") }
        let environment = lease.environment(adding: ProcessInfo.processInfo.environment)
        switch ForegroundProgram.run(command, environment: environment) {
        case .ended(let code): throw ExitCode(code)
        case .notStarted(let code, let reason): try StandardError.fail(reason, ExitCode(code))
        }
    }
}
