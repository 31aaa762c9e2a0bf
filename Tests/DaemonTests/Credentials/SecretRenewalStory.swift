import FoundationEssentials
import TestSupport
import Testing

/// Secrets of programs, which run again when a secret expires or is refused.
@Suite struct SecretRenewalStory {
    // The shell reads the script, as in `SecretReaderTests`.
    /// Runs a story with a channel whose bearer token a program prints.
    private func run(
        _ script: String,
        auth: String = "bearer: 'exec:PROGRAM'",
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
        let origin = try await OriginServer.start { request in
            let shown = request["X-Key"] ?? request["Authorization"] ?? ""
            return shown == "revoked" || shown == "Bearer revoked"
                || shown == "Basic bWU6cmV2b2tlZA=="
                ? Raw.response("401 Unauthorized", fields: ["WWW-Authenticate: Bearer"])
                : Raw.ok(shown)
        }
        let auth = auth.replacing("PROGRAM", with: "/bin/sh \(program)")
        let channels = """
            orders: { upstream: 'http://127.0.0.1:\(origin.port)', auth: { \(auth) } }
            """
        try await DaemonHarness.run(channels: channels) { proxy async throws in
            try await story(proxy, directory)
        }
    }

    private func token(_ proxy: DaemonHarness) async throws -> String {
        try await proxy.exchange(Raw.get("/orders/1")).body
    }

    // Takes a second, which is the minimum time until a secret is read again.
    @Test func `a secret is read again before it expires`() async throws {
        let script = #"printf '{"token":"t%s","expires_in":"1"}' $(wc -l < count)"#
        try await run(script) { proxy, _ async throws in
            let first = try await token(proxy)
            #expect(first.hasPrefix("Bearer t"))
            #expect(await eventually { (try? await token(proxy)) != first })
            #expect(!proxy.reports.contains { $0.contains("reloaded") })
        }
    }

    // Takes a second, too.
    @Test func `a secret stays in use if it cannot be read again`() async throws {
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

    @Test(
        arguments: [
            ("bearer: 'exec:PROGRAM'", "Bearer good"),
            ("basic: { username: me, password: 'exec:PROGRAM' }", "Basic bWU6Z29vZA=="),
            ("header: { name: X-Key, value: 'exec:PROGRAM' }", "good"),
        ]
    )
    func `a program runs again after the API refuses its secret`(auth: String, sent: String)
        async throws
    {
        let script = #"[ $(wc -l < count) = 1 ] && echo revoked || echo '{"token":"good"}'"#
        try await run(script, auth: auth) { proxy, directory async throws in
            for _ in 1...2 { #expect(try await token(proxy) == sent) }
            let facts = try await proxy.log("orders").map(\.facts)
            #expect(facts.map(\.retries) == [["unauthorized"], nil])
            #expect(facts.map { $0.auth?.generation } == [2, 2])
            #expect(FileManager.default.contents(atPath: "\(directory)/count")?.count == 4)
            #expect(proxy.reports.contains { $0.contains("using the new value from exec:") })
        }
    }

    @Test func `a program that prints the same secret does not run for every 401`() async throws {
        try await run("echo revoked") { proxy, directory async throws in
            for _ in 1...3 {
                #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 401)
            }
            // At the start, after the first 401, and then at most once a second.
            let count = FileManager.default.contents(atPath: "\(directory)/count")?.count ?? 0
            #expect((4..<8).contains(count))
        }
    }

    @Test func `other text in braces is used as the secret`() async throws {
        try await run(#"echo '{"key":"a"}'"#) { proxy, _ async throws in
            #expect(try await token(proxy) == #"Bearer {"key":"a"}"#)
        }
    }
}
