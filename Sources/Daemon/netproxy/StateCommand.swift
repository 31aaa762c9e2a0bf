import ArgumentParser
import NetproxyCommands
import NetproxyConfig
import NetproxyService

struct StateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "state",
        abstract: "Move stored tokens from one store to another.",
        discussion: """
            From files to etcd: export with the old configuration, then import with the new one. A \
            refresh token that is used in two places ends the session, so an export moves tokens, \
            unless it is told to copy them.
            """,
        subcommands: [ExportCommand.self, ImportCommand.self]
    )
}

struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write all tokens to a file, and remove them from the store.",
        discussion: """
            The file is sealed with state_key, if there is one. It signs a running daemon out, so it refuses \
            beside one unless --sign-out is given, and while a daemon renews.
            """
    )

    @OptionGroup var file: ConfigurationOption
    @Argument(help: "The file to write; it must not exist.", completion: .file()) var path: String
    @Flag(help: "Leave the tokens in the store, for a backup.") var copy = false
    @Flag(help: "Export beside a running daemon, which then has no sign-in any more.")
    var signOut = false

    func run() async throws {
        if !copy, !signOut { try await requireNoDaemon() }
        try await StateTransfer.run(file) { transfer in
            let families = try await transfer.export(to: path, keeping: copy)
            let verb = copy ? "copied" : "moved"
            StandardOutput.tell(
                "The tokens of \(families.joined(separator: ", ")) were \(verb) to \(path)."
            )
            guard copy else {
                guard signOut else { return }
                return StandardOutput.tell(
                    "Daemons that used them have no sign-in any more: they respond reauthorization_required."
                )
            }
            StandardOutput.tell(
                "Use the copy only once the tokens in the store are gone: a refresh token that is used in "
                    + "two places ends the session."
            )
        }
    }
}

extension ExportCommand {
    /// Refuses to end the sign-ins of a daemon that serves requests.
    private func requireNoDaemon() async throws {
        let configuration = try file.load(.text)
        let daemon: AdminClient.TextResponse
        do {
            daemon = try await AdminClient(configuration.admin).send(.status)
        } catch {
            // Nothing runs there.
            return
        }
        guard daemon.status == 200 else { return }
        try StandardError.fail(
            "a daemon uses these tokens: an export ends its sign-ins, and requests that need them fail until "
                + "someone signs in again; stop it first, use --copy for a backup, or --sign-out"
        )
    }
}

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Store the tokens of a file that an export wrote.",
        discussion: "It refuses while a daemon renews. Running daemons find the tokens there."
    )

    @OptionGroup var file: ConfigurationOption
    @Argument(help: "The file to read.", completion: .file()) var path: String
    @Flag(help: "Replace tokens that are stored already.") var replace = false

    func run() async throws {
        try await StateTransfer.run(file) { transfer in
            let families = try await transfer.import(from: path, replacing: replace)
            StandardOutput.tell(
                "The tokens of \(families.joined(separator: ", ")) are stored; remove \(path)."
            )
        }
    }
}

extension StateTransfer {
    /// Runs a command's work; on failure, prints one line and exits with 1.
    fileprivate static func run(
        _ file: ConfigurationOption,
        _ work: (StateTransfer) async throws -> Void
    ) async throws {
        let configuration = try file.load(.text)
        do {
            let transfer = try StateTransfer(configuration, environment: file.environment)
            defer { transfer.close() }
            try await transfer.settling { try await work(transfer) }
        } catch let error as Failure {
            try StandardError.fail("\(error)")
        }
    }
}
