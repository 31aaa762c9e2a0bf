import ArgumentParser
import ProxyConfig
import ProxyDaemon

struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Sign in to a channel.",
        discussion: """
            Prints a page to open in a browser on this machine, and waits five minutes for it to \
            come back; with --device, or where the channel's grant is device_code, prints a page and \
            a code for any device. Works with or without a running daemon.
            """
    )

    @OptionGroup var file: ConfigurationOption
    @Argument(help: "The channel.", completion: .channels) var channel: String
    @Flag(help: "Sign in on another device.") var device = false

    func run() async throws {
        let configuration = try file.load(.text)
        try configuration.require([channel])
        try await SignInSession.run(channel, configuration, file.environment) { signIn in
            if device || signIn.prefersDevice {
                try await signIn.onAnotherDevice()
            } else {
                try await signIn.throughBrowser()
            }
            StandardOutput.tell("You are signed in to \(channel).")
        }
        let answer = await SignInSession.tell(configuration, "POST", "\(channel)/token/adopt")
        if case .refused(let words) = answer {
            StandardError.write(
                "netproxy: the running daemon did not take the tokens over: \(words)"
            )
        }
    }
}

struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Revoke a channel's tokens and forget them."
    )

    @OptionGroup var file: ConfigurationOption
    @Argument(help: "The channel.", completion: .channels) var channel: String

    func run() async throws {
        let configuration = try file.load(.text)
        try configuration.require([channel])
        try await SignInSession.run(channel, configuration, file.environment) { signIn in
            var outcome = try await signIn.revoke()
            if await SignInSession.hasUnsavedTokens(configuration, channel) {
                outcome.fail(
                    "the newest tokens could not be stored: only the daemon has them, and they are "
                        + "not revoked"
                )
            }
            for line in outcome.lines { StandardOutput.tell(line) }
            for line in outcome.failures { StandardError.write("netproxy: \(line)") }
            // The daemon first: what it holds in memory it might store again.
            let answer = await SignInSession.tell(configuration, "DELETE", "\(channel)/token")
            try await signIn.forget()
            if case .refused(let words) = answer {
                try StandardError.fail("the running daemon did not forget them: \(words)")
            }
            StandardOutput.tell("The tokens of \(channel) are forgotten.")
            if !outcome.failures.isEmpty {
                try StandardError.fail(
                    "what was not revoked is still good: revoke it at the server"
                )
            }
        }
    }
}

/// What sign-in commands share.
enum SignInSession {
    /// What a running daemon said.
    enum Answer {
        case done
        /// There is none.
        case nobody
        case refused(String)
    }

    /// Runs a command's work, and ends with 1 and one line if it fails.
    static func run(
        _ channel: String,
        _ configuration: ProxyConfiguration,
        _ environment: [String: String],
        for purpose: SignIn.Purpose = .signIn,
        _ work: (SignIn) async throws -> Void
    ) async throws {
        do {
            let signIn = try await SignIn(
                channel,
                of: configuration,
                environment: environment,
                for: purpose,
                say: { StandardOutput.tell($0) }
            )
            defer { signIn.close() }
            try await work(signIn)
        } catch let error as SignIn.Failure {
            try StandardError.fail("\(error)")
        }
    }

    /// Whether a running daemon has tokens that are not in the store.
    static func hasUnsavedTokens(
        _ configuration: ProxyConfiguration,
        _ channel: String
    ) async -> Bool {
        do {
            let answer = try await AdminClient(configuration.admin).send("GET", "/status")
            let known = DaemonStatus(json: answer.text)?.channels.first { $0.name == channel }
            return known?.token?.isUnsaved == true
        } catch {
            // Nobody runs who could have any.
            return false
        }
    }

    /// Tells the running daemon, if there is one.
    static func tell(
        _ configuration: ProxyConfiguration,
        _ method: String,
        _ target: String
    ) async -> Answer {
        do {
            let answer = try await AdminClient(configuration.admin)
                .send(method, "/channels/\(target)")
            return (200..<300).contains(answer.status)
                ? .done : .refused(answer.problem ?? answer.text)
        } catch is AdminClient.Unreachable {
            return .nobody
        } catch {
            return .refused("\(error)")
        }
    }
}
