import ArgumentParser
import NetproxyChannels
import NetproxyCommands
import NetproxyConfig
import NetproxyService

struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Sign in to a channel or an identity.",
        discussion: """
            Opens the sign-in page in your browser if there is a desktop (or $BROWSER), prints its \
            URL, and waits five minutes for the sign-in. If the browser runs on another machine, paste \
            the address at which it ends. With --device, or if the channel's grant is device_code, prints a URL and a \
            code for any device. Works with or without a running daemon.
            """
    )

    @OptionGroup var file: ConfigurationOption
    @Argument(help: "The channel or identity.", completion: .credentials) var channel: String
    @Flag(help: "Sign in on another device.") var device = false
    @Flag(help: "Print the page's URL only; open no browser.") var noBrowser = false
    @Option(
        help: "A scope to ask for in addition, where the server is found by the upstream's URL."
    )
    var scope: [String] = []

    func validate() throws {
        do throws(SignIn.Failure) {
            for text in scope { _ = try SignIn.scopes(in: text) }
        } catch {
            throw ValidationError("--scope: \(error)")
        }
    }

    func run() async throws {
        let configuration = try file.load(.text)
        try configuration.requireCredential(channel)
        try await SignInSession.run(channel, configuration, file.environment) { signIn in
            if signIn.findsServer {
                try await findAndSignIn(signIn, configuration)
            } else if scope.isEmpty {
                try await self.signIn(signIn)
            } else {
                try StandardError.fail("--scope needs discover; set auth.oauth.scopes instead")
            }
            StandardOutput.tell("You are signed in to \(signIn.name).")
            if let channels = signIn.servedChannels { StandardOutput.tell(channels) }
        }
        let answer = await SignInSession.notify(
            configuration,
            .adopt(channel: channel),
            recording: .login,
            channel
        )
        if case .refused(let words) = answer {
            StandardError.write(
                "netproxy: the running daemon did not take over the tokens: \(words)"
            )
        }
    }

    private func signIn(_ signIn: SignIn) async throws {
        if device || signIn.prefersDevice {
            try await signIn.onAnotherDevice()
        } else {
            try await signIn.throughBrowser(
                noBrowser ? nil : BrowserOpener(environment: file.environment),
                pasted: Terminal.lines
            )
        }
    }

    /// Signs in to the server that the upstream names.
    ///
    /// Signs in once more with a new client if the server does not know the registered one.
    private func findAndSignIn(
        _ session: SignIn,
        _ configuration: ProxyConfiguration
    ) async throws {
        var session = session
        let wanted = scope + (await SignInSession.wantedScopes(configuration, channel))
        let way: SignIn.Way = device || session.prefersDevice ? .device : .browser
        try await session.discover(adding: wanted, by: way)
        do {
            try await signIn(session)
        } catch let error as SignIn.Failure where session.needsAnotherClient(after: error) {
            StandardOutput.tell("\(error)")
            try await session.discover(adding: wanted, by: way, registering: .again)
            try await signIn(session)
        }
    }
}

struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Revoke the tokens of a channel or an identity, and forget them."
    )

    @OptionGroup var file: ConfigurationOption
    @Argument(help: "The channel or identity.", completion: .credentials) var channel: String

    func run() async throws {
        let configuration = try file.load(.text)
        try configuration.requireCredential(channel)
        try await SignInSession.run(channel, configuration, file.environment) { signIn in
            var outcome = try await signIn.revoke()
            if await SignInSession.hasUnsavedTokens(configuration, channel) {
                outcome.fail(
                    "the newest tokens could not be stored: only the daemon has them, and they were "
                        + "not revoked"
                )
            }
            for line in outcome.lines { StandardOutput.tell(line) }
            for line in outcome.failures { StandardError.write("netproxy: \(line)") }
            // Notify the daemon first; otherwise it might store the tokens in its memory again.
            let answer = await SignInSession.notify(
                configuration,
                .tokens(channel: channel),
                recording: .logout,
                channel
            )
            try await signIn.forget()
            if case .refused(let words) = answer {
                try StandardError.fail("the running daemon did not forget them: \(words)")
            }
            StandardOutput.tell("The tokens of \(signIn.name) were removed.")
            if let channels = signIn.servedChannels { StandardOutput.tell(channels) }
            if !outcome.failures.isEmpty {
                try StandardError.fail(
                    "tokens that were not revoked are still valid: revoke them at the server"
                )
            }
        }
    }
}

/// The shared parts of the sign-in commands.
enum SignInSession {
    /// The response of a running daemon.
    enum DaemonOutcome {
        case done
        case noDaemon
        case refused(String)
    }

    /// Runs a command's work; on failure, prints one line and exits with 1.
    static func run(
        _ channel: String,
        _ configuration: ProxyConfiguration,
        _ environment: [String: String],
        for purpose: OAuthAssembly.Purpose = .signIn,
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
            try await signIn.settling { try await work(signIn) }
        } catch let error as SignIn.Failure {
            try StandardError.fail("\(error)")
        }
    }

    /// Returns the scopes that the API found missing in a running daemon's tokens.
    static func wantedScopes(
        _ configuration: ProxyConfiguration,
        _ channel: String
    ) async -> [String] {
        await tokens(configuration, channel).compactMap(\.wantedScope)
            .flatMap { $0.split(separator: " ").map(String.init) }
    }

    /// Whether a running daemon has tokens that are not in the store.
    static func hasUnsavedTokens(
        _ configuration: ProxyConfiguration,
        _ channel: String
    ) async -> Bool {
        await tokens(configuration, channel).contains { $0.isUnsaved == true }
    }

    /// Returns the states of a running daemon's tokens for a channel or identity.
    private static func tokens(
        _ configuration: ProxyConfiguration,
        _ channel: String
    ) async -> [DaemonStatus.Token] {
        do {
            let answer = try await AdminClient(configuration.admin).send(.status)
            return DaemonStatus(json: answer.text)?.tokens(of: channel)?.map(\.token) ?? []
        } catch {
            // No daemon is running.
            return []
        }
    }

    /// Sends a request to the running daemon, if there is one, and ensures that the action is audited.
    ///
    /// The daemon records the action; if it has not performed it, this process does.
    static func notify(
        _ configuration: ProxyConfiguration,
        _ route: AdminRoute,
        recording action: Audit,
        _ channel: String
    ) async -> DaemonOutcome {
        let answer = await notify(configuration, route)
        if case .done = answer { return answer }
        await action.recordHere(of: channel, in: configuration.log) {
            StandardError.write("netproxy: \($0)")
        }
        return answer
    }

    private static func notify(
        _ configuration: ProxyConfiguration,
        _ route: AdminRoute
    ) async -> DaemonOutcome {
        do {
            let answer = try await AdminClient(configuration.admin).send(route)
            return (200..<300).contains(answer.status)
                ? .done : .refused(answer.problem ?? answer.text)
        } catch is AdminClient.Unreachable {
            return .noDaemon
        } catch {
            return .refused("\(error)")
        }
    }
}
