import ArgumentParser
import Glibc
import NetproxyPath
import NetproxySystem

/// The process, whose main thread starts the command and sleeps.
///
/// `main` is not asynchronous: that would require a thread of the executor before its first line, and wait
/// silently if the system starts none.
@main
enum Program {
    static func main() {
        // Every command may hold a token or a key in memory.
        MemoryPrivacy.forbidDumps()
        StandardStream.openMissing()
        ThreadCheck.begin()
        // The main thread runs no tasks.
        Task { @concurrent in
            ThreadCheck.end()
            let words = UsageAdvice.arguments(Array(CommandLine.arguments.dropFirst()))
            if let refusal = UsageAdvice.refusal(of: words) {
                StandardError.write("netproxy: \(refusal)")
                exit(ExitCode.validationFailure.rawValue)
            }
            await Netproxy.main(words)
            exit(EXIT_SUCCESS)
        }
        while true { pause() }
    }
}

/// The command line (contract section 1).
struct Netproxy: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "netproxy",
        abstract:
            "A local proxy that adds headers and OAuth tokens to the requests of your programs.",
        discussion: """
            Programs speak plain HTTP to localhost; netproxy forwards over TLS to the API, with a \
            credential that the program never sees, and writes one log line per exchange.
            """,
        version: Version.text,
        subcommands: [
            InitCommand.self, PresetCommand.self, RunCommand.self, CheckCommand.self,
            DemoCommand.self, TailCommand.self,
            StatusCommand.self,
            WhyCommand.self, ExecCommand.self, ReloadCommand.self, TokenCommand.self,
            LoginCommand.self, LogoutCommand.self, StateCommand.self,
            VersionCommand.self,
        ]
    )
}

/// The version of the program and of the libraries it runs on.
enum Version {
    static let number = LibraryVersions.ownVersion
    static let text = "netproxy \(number)\n\(LibraryVersions.versions)"
}

struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "version",
        abstract: "Print the versions of netproxy, libevent and OpenSSL."
    )

    func run() throws {
        try StandardOutput.write(Version.text)
    }
}
