import FoundationEssentials
import NetproxyConfig
import NetworkCore
import TestSupport
import Testing

@testable import NetproxyChannels

/// The secrets of one start or reload.
@Suite struct SecretReaderTests {
    // The shell reads the script: a file that was just written cannot be executed while another test, which
    // forked at that moment, has it open.
    /// Creates a program in a directory that exists only during the story.
    private func run(
        _ script: String,
        _ story: (_ program: String, _ directory: String) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "netproxy-secrets-\(UInt64.random(in: 0 ... .max))").path()
        try FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: true
        )
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let program = "\(directory)/helper"
        try Data("#!/bin/sh\ncd \(directory)\n\(script)\n".utf8).write(to: URL(filePath: program))
        try await story(program, directory)
    }

    private func reader() -> SecretReader {
        SecretReader(SecretResolver(environment: ["PATH": "/usr/bin:/bin"]))
    }

    @Test func `programs run at the same time`() async throws {
        // Each program waits for the other, and is killed after 10 s if they run one after the other.
        let script = ": > $1; while [ ! -e $2 ]; do sleep 0.01; done; echo secret-$1"
        try await run(script) { program, _ async throws in
            let pair = [("a", "b"), ("b", "a")].map {
                SecretReference.exec(["/bin/sh", program, $0.0, $0.1])
            }
            let reader = reader()
            await reader.runPrograms(secrets: pair, documents: [])
            #expect(try await reader.secret(pair[0]).reveal() == "secret-a")
            #expect(try await reader.secret(pair[1]).reveal() == "secret-b")
        }
    }

    @Test func `a program runs once, whether it succeeds or not`() async throws {
        try await run("echo x >> count; exit $1") { program, directory async throws in
            let reader = reader()
            for status in ["0", "1"] {
                let secret = SecretReference.exec(["/bin/sh", program, status])
                await reader.runPrograms(secrets: [secret, secret], documents: [])
                for _ in 0..<3 {
                    await #expect(throws: SecretError.self) { try await reader.secret(secret) }
                }
            }
            let count = FileManager.default.contents(atPath: "\(directory)/count")
            #expect(count?.count == 4)
            reader.forget()
            await #expect(throws: SecretError.self) {
                try await reader.secret(.exec(["/bin/sh", program, "0"]))
            }
            #expect(FileManager.default.contents(atPath: "\(directory)/count")?.count == 6)
        }
    }
}
