import ArgumentParser
import ProxyConfig
import ProxyDaemon

/// Asks the running daemon, and ends with 69 if none answers.
///
/// The files that the configuration names are for the daemon to look at: whoever asks may not be
/// allowed to read its secrets, and its environment has some that his has not.
struct AdminSession {
    private let client: AdminClient
    /// How a command ends to which no daemon answers.
    private var unreachable = ExitStatus.unavailable

    init(_ configuration: ProxyConfiguration) {
        client = AdminClient(configuration.admin)
    }

    /// Asks a daemon what it does; with a file that is wrong the command ends with 78 if none answers.
    init(asking file: ConfigurationOption) throws {
        let admin = try file.admin()
        client = AdminClient(admin.address)
        if !admin.isValid { unreachable = ExitStatus.configuration }
    }

    func send(_ method: String, _ target: String) async throws -> AdminClient.Answer {
        try await reaching { try await client.send(method, target) }
    }

    /// Sends and returns what was said; prints it on standard error and fails if that is a refusal.
    func answer(_ method: String, _ target: String) async throws -> String {
        let answer = try await send(method, target)
        try check(answer)
        return answer.text.hasSuffix("\n") ? String(answer.text.dropLast()) : answer.text
    }

    /// Sends what has an answer without an end; the same rules.
    func hold(_ method: String, _ target: String) async throws -> HeldAnswer {
        let held = try await reaching { try await client.hold(method, target) }
        try check(held.answer)
        return held
    }

    private func reaching<Answer>(_ ask: () async throws -> Answer) async throws -> Answer {
        do {
            return try await ask()
        } catch let error as AdminClient.Unreachable {
            try StandardError.fail(error.description, unreachable)
        }
    }

    private func check(_ answer: AdminClient.Answer) throws {
        guard !(200..<300).contains(answer.status) else { return }
        let text = answer.text.hasSuffix("\n") ? String(answer.text.dropLast()) : answer.text
        StandardError.write(answer.problem.map { "netproxy: \($0)" } ?? text)
        // What a reload refuses is the configuration.
        throw answer.status == 422 ? ExitStatus.configuration : ExitCode.failure
    }

    /// What is made of an answer's JSON; fails if that is nothing.
    func understood<Content>(_ content: Content?) throws -> Content {
        if let content { return content }
        try StandardError.fail(
            "the daemon's answer is not understood; if netproxy was updated, restart the daemon"
        )
    }

    /// The daemon's state.
    func status() async throws -> DaemonStatus {
        try understood(DaemonStatus(json: try await answer("GET", "/status")))
    }

    /// Sends, prints what was said, and fails if the daemon refused.
    func perform(_ method: String, _ target: String) async throws {
        try StandardOutput.write(try await answer(method, target))
    }
}

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show channels, tokens, counters and pools of the running daemon."
    )

    @OptionGroup var file: ConfigurationOption
    @Flag(help: "Print the daemon's JSON as it is.") var json = false

    func run() async throws {
        let session = try AdminSession(asking: file)
        if json { return try await session.perform("GET", "/status") }
        try StandardOutput.write(try await session.status().lines.joined(separator: "\n"))
    }
}

struct WhyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Explain one recent exchange step by step.",
        discussion: """
            The daemon remembers the last 1024 exchanges of each event loop, and the last 256 that \
            failed or were repeated. The id is request_id in the log (netproxy tail --json) and in \
            netproxy's own answers, and X-Request-Id upstream. Where an app has sent an \
            X-Request-Id of its own, that goes upstream and is client_request_id in the log; it \
            finds the last exchange to which the app gave it.
            """
    )

    @OptionGroup var file: ConfigurationOption
    @Argument(help: "The id of the exchange.") var requestID: String
    @Flag(help: "Print the daemon's JSON as it is.") var json = false

    func run() async throws {
        let session = try AdminSession(asking: file)
        let target = "/why/\(AdminClient.pathSegment(requestID))"
        if json { return try await session.perform("GET", target) }
        let text = try await session.answer("GET", target)
        let explanation = try session.understood(ExchangeExplanation(json: text))
        try StandardOutput.write(explanation.lines.joined(separator: "\n"))
    }
}

struct ReloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Re-read the configuration in the running daemon."
    )

    @OptionGroup var file: ConfigurationOption
    @Flag(help: "Only print which channels would change.") var plan = false

    func run() async throws {
        try await AdminSession(try file.load(.text))
            .perform("POST", plan ? "/reload?plan" : "/reload")
    }
}

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Show the state of a channel's token; the token itself with --reveal only."
    )

    @OptionGroup var file: ConfigurationOption
    @Argument(help: "The channel.", completion: .channels) var channel: String
    @Flag(help: "Renew the token first.") var refresh = false
    @Flag(help: "Print the stored access token itself, and nothing else.") var reveal = false

    func run() async throws {
        let configuration = try file.glance(
            trusting: "admin",
            "state",
            "defaults",
            "channels.\(channel)"
        )
        try configuration.require([channel])
        let session = AdminSession(configuration)
        if refresh {
            let said = try await session.answer("POST", "/channels/\(channel)/token/refresh")
            if !reveal { try StandardOutput.write(said) }
        }
        if reveal {
            return try await SignInSession.run(
                channel,
                configuration,
                file.environment,
                for: .look
            ) {
                try StandardOutput.write(try await $0.accessToken())
            }
        }
        let status = try await session.status()
        guard let known = status.channels.first(where: { $0.name == channel }) else {
            StandardError.write(
                "netproxy: the running daemon does not know \(channel) yet; netproxy reload"
            )
            throw ExitCode.failure
        }
        guard let token = known.token else {
            try StandardOutput.write("\(channel): no OAuth token")
            return
        }
        try StandardOutput.write("\(channel): \(token.summary(of: channel))")
        if let error = token.lastError { try StandardOutput.write("last error: \(error)") }
    }
}
