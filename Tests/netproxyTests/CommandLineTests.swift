import ArgumentParser
import Testing

@testable import netproxy

/// The parsing of the commands' arguments.
@Suite struct CommandLineTests {
    private func parse<Command>(_ words: String..., as type: Command.Type) throws -> Command {
        try #require(try Netproxy.parseAsRoot(words) as? Command)
    }

    /// Returns the message and the exit code of a refused command line.
    private func refusal(_ words: [String]) throws -> (message: String, code: Int32) {
        do {
            _ = try Netproxy.parseAsRoot(words)
        } catch {
            return (Netproxy.message(for: error), Netproxy.exitCode(for: error).rawValue)
        }
        Issue.record("\(words) is accepted")
        return ("", 0)
    }

    @Test(
        arguments: [
            (["tail", "-n-1"], "-n must be ≥ 0"),
            (["tail", "--json", "--as", "curl"], "--json cannot be combined with --as curl"),
            (["tail", "-f", "--as", "har"], "--as har cannot be combined with -f"),
            (["tail", "--since", "2026-13-45"], "--since: expected 90s"),
            (["tail", "--since", "1970"], "--since: expected 90s"),
            (["check", "a.yaml", "--config", "b.yaml"], "cannot be combined"),
            (["check", "--schema", "--online"], "leave out --online and --user"),
            (["check", "--schema", "--user", "netproxy"], "leave out --online and --user"),
            (["tail", "--since", "soon"], "--since: expected 90s, 10m, 24h, 7d, or a time"),
            (["tail", "--where", "="], "--where =:"),
            (["exec", "--channel", "orders"], "expected a program after --"),
            (["status", "--config", ""], "--config requires a path"),
            (["token"], "Missing expected argument '<channel>'"),
            (["demo", "--port", "70000"], "70000"),
            (["login", "tools", "--scope", " "], "--scope: a scope must not be empty"),
            (["login", "tools", "--scope", "read wri\"te"], "is not a scope"),
            (["status", "all", "more"], "Unexpected argument 'more'"),
        ] as [([String], String)]
    )
    func `wrong usage exits with 64 and the reason`(words: [String], reason: String) throws {
        let refusal = try refusal(words)
        #expect(refusal.code == 64)
        #expect(refusal.message.contains(reason), "\(refusal.message)")
    }

    @Test func `tail parses its options`() throws {
        let tail = try parse(
            "tail",
            "orders",
            "-f",
            "-n5",
            "--where",
            "status>=400",
            "--where",
            "error",
            as: TailCommand.self
        )
        #expect(tail.channels == ["orders"])
        #expect(tail.follow)
        #expect(tail.count == 5)
        #expect(tail.conditions == ["status>=400", "error"])
    }

    @Test func `all arguments after -- belong to the program`() throws {
        let exec = try parse(
            "exec",
            "--channel",
            "orders",
            "--channel",
            "bills",
            "--",
            "sh",
            "-c",
            "--config",
            as: ExecCommand.self
        )
        #expect(exec.channels == ["orders", "bills"])
        #expect(exec.command == ["sh", "-c", "--config"])
    }

    @Test func `a token is renewed or shown only on request`() throws {
        let token = try parse("token", "orders", as: TokenCommand.self)
        #expect(!token.refresh && !token.reveal)
        let both = try parse("token", "orders", "--refresh", "--reveal", as: TokenCommand.self)
        #expect(both.refresh && both.reveal)
    }

    @Test(arguments: [
        "init", "run", "check", "demo", "tail", "status", "why", "exec", "reload", "token", "login",
        "logout", "state", "version",
    ])
    func `every command has a help text`(name: String) throws {
        let help = Netproxy.helpMessage(for: try #require(command(name)))
        #expect(help.hasPrefix("OVERVIEW: "))
        #expect(help.contains("USAGE: netproxy \(name)"))
    }

    private func command(_ name: String) -> (any ParsableCommand.Type)? {
        Netproxy.configuration.subcommands.first { $0.configuration.commandName == name }
    }

    @Test func `tail accepts the options of other programs`() throws {
        #expect(try parse("tail", "--follow", "--since", "7d", as: TailCommand.self).follow)
        let tail = try parse("tail", "--as", "curl-upstream", as: TailCommand.self)
        #expect(tail.rendering == .upstreamCurl)
        #expect(UsageAdvice.arguments(["-v"]) == ["--version"])
    }

    @Test(
        arguments: [
            (["tial"], "there is no command 'tial', did you mean 'tail'?"),
            (["frobnicate"], "there is no command 'frobnicate'; netproxy --help lists them"),
            (["exec", "sh", "-c", "x"], "put -- before the program: netproxy exec -- sh -c x"),
            (
                ["exec", "--channel", "a", "sh"],
                "put -- before the program: netproxy exec --channel a -- sh"
            ),
            (["exec", "--channel", "a", "--", "sh"], nil), (["exec"], nil),
            (["exec", "--help"], nil),
            (["tail"], nil), (["--help"], nil), ([], nil), (["help", "tail"], nil),
            (["---completion", "tail"], nil),
        ] as [([String], String?)]
    )
    func `a mistyped argument is refused with a suggestion`(words: [String], advice: String?) {
        #expect(UsageAdvice.refusal(of: words) == advice)
    }
}
