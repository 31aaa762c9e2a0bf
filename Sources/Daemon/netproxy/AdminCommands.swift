import ArgumentParser
import NetproxyChannels
import NetproxyCommands
import NetproxyConfig
import NetproxyPath
import NetproxyService

/// A command's session with the running daemon; the command ends with 69 if no daemon responds.
///
/// It does not read the files that the configuration names: the user may have no permission to read the
/// daemon's secrets, and some may be only in the daemon's environment.
struct AdminSession {
    private let client: AdminClient
    /// The exit status if no daemon responds.
    private var unreachable = ExitStatus.unavailable

    init(_ configuration: ProxyConfiguration) {
        client = AdminClient(configuration.admin)
    }

    /// Prepares to query a daemon, also with an invalid file; then the exit status is 78 if no daemon
    /// responds.
    ///
    /// A user can query the service without permission to read its configuration.
    init(asking file: ConfigurationOption) throws {
        if file.isForbidden {
            self = AdminSession.service
            return
        }
        let admin = try file.admin()
        client = AdminClient(admin.addresses)
        if !admin.isValid { unreachable = ExitStatus.configuration }
    }

    /// A session with the system's service, at its default address.
    static var service: AdminSession {
        AdminSession([.unix(ConfigurationLocator.service.socket)])
    }

    private init(_ addresses: [AdminAddress]) {
        client = AdminClient(addresses)
    }

    /// Sends a request and returns the text of the response.
    ///
    /// Prints an error response on standard error; the command then fails.
    func answer(_ route: AdminRoute, _ query: AdminQuery = AdminQuery()) async throws -> String {
        let answer = try await reaching { try await client.send(route, query) }
        try check(answer)
        return answer.text.hasSuffix("\n") ? String(answer.text.dropLast()) : answer.text
    }

    /// Sends a request whose response is endless, and handles an error response in the same way.
    func hold(_ route: AdminRoute, _ query: AdminQuery) async throws -> HeldResponse {
        let held = try await reaching { try await client.hold(route, query) }
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

    private func check(_ answer: AdminClient.TextResponse) throws {
        guard !(200..<300).contains(answer.status) else { return }
        let text = answer.text.hasSuffix("\n") ? String(answer.text.dropLast()) : answer.text
        StandardError.write(answer.problem.map { "netproxy: \($0)" } ?? text)
        // A refused reload is a configuration error.
        throw answer.status == 422 ? ExitStatus.configuration : ExitCode.failure
    }

    /// Unwraps the decoded response; the command fails if decoding failed.
    func understood<Content>(_ content: Content?) throws -> Content {
        if let content { return content }
        try StandardError.fail(
            "cannot understand the daemon's answer; if netproxy was updated, restart the daemon"
        )
    }

    /// Returns the daemon's state.
    func status() async throws -> DaemonStatus {
        try understood(DaemonStatus(json: try await answer(.status)))
    }

    /// Sends a request and prints the response; the command fails if the daemon refuses.
    func perform(_ route: AdminRoute, _ query: AdminQuery = AdminQuery()) async throws {
        try StandardOutput.write(try await answer(route, query))
    }
}

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the channels of the running daemon, those that need attention first.",
        discussion: """
            Prints one line for each channel: its state, its local URL, its upstream, the last result and its \
            token. With a name, prints everything about that channel or identity: counters, times, pool and token.
            """
    )

    @OptionGroup var file: ConfigurationOption
    @Argument(help: "The channel or identity.", completion: .channels) var name: String?
    @Flag(help: "Print the daemon's JSON unchanged.") var json = false

    func run() async throws {
        let session = try AdminSession(asking: file)
        if json { return try await session.perform(.status) }
        let status = try await session.status()
        var lines = status.overview
        if let name {
            let names = (status.identities ?? []).map(\.name) + status.channels.map(\.name)
            try UnknownChannel.require([name], names)
            lines = status.details(of: name) ?? []
        }
        try StandardOutput.write(lines.joined(separator: "\n"))
    }
}

struct WhyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Explain one recent exchange step by step.",
        discussion: """
            Without an id, explains the newest exchange (of a channel) that failed, was refused or \
            was sent again, or that ended with 401, 403 or 5xx. The daemon remembers the last 1024 exchanges of each event loop, and the last 256 that \
            failed or were retried. The id is request_id in the log, at the end of netproxy tail's lines, and in \
            netproxy's error responses, and X-Request-Id upstream. If the client sends its own \
            X-Request-Id, that goes upstream and is client_request_id in the log; it finds the last \
            exchange with this id.
            """
    )

    @OptionGroup var file: ConfigurationOption
    @Argument(help: "The id of the exchange, or a channel.", completion: .channels)
    var name: String?
    @Flag(help: "Print the daemon's JSON unchanged.") var json = false

    func run() async throws {
        let session = try AdminSession(asking: file)
        let route = name.map(AdminRoute.why) ?? .newest
        if json { return try await session.perform(route) }
        let text = try await session.answer(route)
        let explanation = try session.understood(ExchangeExplanation(json: text))
        try StandardOutput.write(explanation.lines.joined(separator: "\n"))
    }
}

struct ReloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Reload the configuration of the running daemon."
    )

    @OptionGroup var file: ConfigurationOption
    @Flag(help: "Print what would change, key by key, without changing it.") var plan = false

    func run() async throws {
        try await AdminSession(try file.load(.text))
            .perform(.reload, AdminQuery(plan ? [(name: "plan", value: "")] : []))
    }
}

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract:
            "Show the state of the token of a channel or an identity; the token itself only with --reveal."
    )

    @OptionGroup var file: ConfigurationOption
    @Argument(help: "The channel or identity.", completion: .credentials) var channel: String
    @Flag(help: "Renew the token first.") var refresh = false
    @Flag(help: "Print only the stored access token itself.") var reveal = false

    func run() async throws {
        let configuration = try file.glance(
            trusting: "admin",
            "state",
            "defaults",
            "identities",
            "channels.\(channel)"
        )
        try configuration.requireCredential(channel)
        let session = AdminSession(configuration)
        if refresh {
            let said = try await session.answer(.refresh(channel: channel))
            if !reveal { try StandardOutput.write(said) }
        }
        if reveal {
            return try await SignInSession.run(
                channel,
                configuration,
                file.environment,
                for: .look
            ) {
                let token = try await $0.accessToken()
                _ = await SignInSession.notify(
                    configuration,
                    .revealed(channel: channel),
                    recording: .reveal,
                    channel
                )
                try StandardOutput.write(token)
            }
        }
        let status = try await session.status()
        guard let tokens = status.tokens(of: channel) else {
            StandardError.write(
                "netproxy: the running daemon does not know \(channel) yet; run netproxy reload"
            )
            throw ExitCode.failure
        }
        let reason = status.channels.first { $0.name == channel }?.reason
        if let reason { try StandardOutput.write("\(channel): \(reason)") }
        if tokens.isEmpty, reason == nil { try StandardOutput.write("\(channel): no OAuth token") }
        for (owner, token) in tokens {
            try StandardOutput.write("\(owner): \(token.summary(of: owner))")
            if let error = token.lastError { try StandardOutput.write("last error: \(error)") }
        }
    }
}
