import ArgumentParser
import System

/// The command line (contract section 1).
@main
struct Netproxy: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "netproxy",
        abstract: "A local proxy that adds headers and OAuth tokens to the requests of your apps.",
        discussion: """
            Apps speak plain HTTP to localhost; netproxy forwards over TLS to the API, with the \
            credential that the app never sees, and writes one log line per exchange.
            """,
        version: Version.text,
        subcommands: [
            RunCommand.self, CheckCommand.self, DemoCommand.self, TailCommand.self,
            StatusCommand.self,
            WhyCommand.self, ExecCommand.self, ReloadCommand.self, TokenCommand.self,
            LoginCommand.self, LogoutCommand.self,
            VersionCommand.self,
        ]
    )

    static func main() async {
        StandardStream.openMissing()
        await main(nil)
    }
}
