import FoundationEssentials
import TestSupport
import Testing

/// Secrets of programs that say how long they are valid.
@Suite struct SecretRenewalStory {
    /// Runs a story with a channel whose bearer token a program prints.
    private func run(
        _ script: String,
        _ story: (_ proxy: DaemonHarness, _ directory: String) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "netproxy-renewal-\(UInt64.random(in: 0 ... .max))").path()
        try FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: true
        )
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let program = "\(directory)/helper"
        try Data("#!/bin/sh\ncd \(directory)\necho x >> count\n\(script)\n".utf8)
            .write(to: URL(filePath: program))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        let origin = try await OriginServer.start { Raw.ok($0["Authorization"] ?? "") }
        let channels = """
            orders: { upstream: 'http://127.0.0.1:\(origin.port)', auth: { bearer: 'exec:\(program)' } }
            """
        try await DaemonHarness.run(channels: channels) { proxy async throws in
            try await story(proxy, directory)
        }
    }

    private func token(_ proxy: DaemonHarness) async throws -> String {
        try await proxy.exchange(Raw.get("/orders/1")).body
    }

    // Waits for the shortest time after which a secret is read again, which is a second.
    @Test func `a secret that expires is read again before it does`() async throws {
        let script = #"printf '{"token":"t%s","expires_in":"1"}' $(wc -l < count)"#
        try await run(script) { proxy, _ async throws in
            let first = try await token(proxy)
            #expect(first.hasPrefix("Bearer t"))
            #expect(await eventually { (try? await token(proxy)) != first })
            #expect(!proxy.reports.contains { $0.contains("reloaded") })
        }
    }

    // The same second.
    @Test func `a secret that cannot be read again stays`() async throws {
        let script = """
            [ $(wc -l < count) = 1 ] || exit 3
            echo '{"token":"only","expires_in":1}'
            """
        try await run(script) { proxy, directory async throws in
            #expect(try await token(proxy) == "Bearer only")
            #expect(
                await eventually {
                    proxy.reports.contains { $0.contains("could not be read again") }
                }
            )
            #expect(try await token(proxy) == "Bearer only")
            #expect(FileManager.default.contents(atPath: "\(directory)/count")?.count == 4)
        }
    }

    @Test func `other text in braces is the secret itself`() async throws {
        try await run(#"echo '{"key":"a"}'"#) { proxy, _ async throws in
            #expect(try await token(proxy) == #"Bearer {"key":"a"}"#)
        }
    }
}
