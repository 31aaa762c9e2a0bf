import ArgumentParser
import FoundationEssentials
import TestSupport
import Testing

@testable import netproxy

/// The exit codes of commands, with and without a running daemon.
@Suite struct ExitStatusTests {
    /// Runs a command with a configuration, and returns its exit code.
    private func run(_ command: String..., configuration text: String) async throws -> Int32 {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "netproxy-command-\(UInt64.random(in: 0 ... .max)).yaml").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(text.utf8).write(to: URL(filePath: path))
        return try await code(command + ["--config", path])
    }

    private func code(_ words: [String]) async throws -> Int32 {
        do {
            var command = try Netproxy.parseAsRoot(words)
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            return 0
        } catch {
            return Netproxy.exitCode(for: error).rawValue
        }
    }

    private func configuration(admin: String) -> String {
        """
        admin: \(admin)
        state: /nowhere/state
        log: { directory: /nowhere/log }
        channels: { orders: { upstream: "http://127.0.0.1:9" } }

        """
    }

    @Test(arguments: [["status"], ["why", "id"], ["reload"], ["exec", "--", "true"]])
    func `a command without a daemon exits with 69`(words: [String]) async throws {
        let text = configuration(admin: "127.0.0.1:\(RefusingPort.any())")
        let path = FileManager.default.temporaryDirectory
            .appending(path: "netproxy-command-\(UInt64.random(in: 0 ... .max)).yaml").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(text.utf8).write(to: URL(filePath: path))
        let words = [words[0], "--config", path] + words.dropFirst()
        #expect(try await code(words) == 69)
    }

    @Test func `a command without a readable configuration exits with 78`() async throws {
        // Without `run`, which would handle the signals of this process.
        for command in ["check", "status", "reload", "tail"] {
            #expect(try await code([command, "--config", "/nowhere/netproxy.yaml"]) == 78)
        }
        #expect(try await run("check", configuration: "chanels: {}\n") == 78)
        let invalid = configuration(admin: "127.0.0.1:\(RefusingPort.any())") + "wrokers: 1\n"
        #expect(try await run("status", configuration: invalid) == 78)
    }

    @Test func `a command with a valid configuration exits with 0`() async throws {
        #expect(try await code(["version"]) == 0)
        #expect(try await run("check", configuration: configuration(admin: "off")) == 0)
    }

    @Test func `a command for an unknown channel exits with 64`() async throws {
        let text = configuration(admin: "off")
        #expect(try await run("token", "bills", configuration: text) == 64)
        #expect(try await run("login", "bills", configuration: text) == 64)
    }

    @Test func `tail exits with 0 for a missing log and with 1 if the log is not a file`()
        async throws
    {
        let text = configuration(admin: "off")
        #expect(try await run("tail", configuration: text) == 0)
        let stdout = text.replacing("log: {", with: "log: { output: stdout,")
        #expect(try await run("tail", configuration: stdout) == 1)
    }

    @Test func `a command for a running daemon exits with 0, or with 1 or 78 if it is refused`()
        async throws
    {
        try await DaemonHarness.run(channels: "orders: { upstream: http://127.0.0.1:9 }") {
            proxy async throws in
            let text = configuration(admin: "127.0.0.1:\(proxy.adminPort)")
            for command in ["status", "reload"] {
                #expect(try await run(command, configuration: text) == 0)
            }
            #expect(try await run("token", "orders", configuration: text) == 0)
            #expect(try await run("why", "unknown", configuration: text) == 1)
            #expect(try await run("token", "orders", "--refresh", configuration: text) == 1)
            proxy.replaceConfiguration(with: "nonsense")
            #expect(try await run("reload", configuration: text) == 78)
        }
    }
}
