import Foundation
import Glibc
import TestSupport
import Testing

/// Credentials that a program prints.
@Suite struct HelperStory {
    /// A helper that records its environment.
    private final class Helper {
        let directory: String
        var path: String { "\(directory)/helper" }

        init(_ lines: String) throws {
            directory =
                FileManager.default.temporaryDirectory
                .appending(path: "helper-\(UInt64.random(in: 0 ... .max))").path()
            try FileManager.default.createDirectory(
                atPath: directory,
                withIntermediateDirectories: true
            )
            let script = """
                #!/bin/sh
                cd "$(dirname "$0")" || exit 1
                cat >> asked
                env >> environment
                count=$(wc -l < asked)
                \(lines)

                """
            try Data(script.utf8).write(to: URL(filePath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        }

        deinit { try? FileManager.default.removeItem(atPath: directory) }

        /// The number of starts.
        var runs: Int {
            environment.split(separator: "\n").count { $0.hasPrefix("PWD=") }
        }

        var asked: [String] {
            let data = FileManager.default.contents(atPath: "\(directory)/asked") ?? Data()
            return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
        }

        var environment: String {
            let data = FileManager.default.contents(atPath: "\(directory)/environment") ?? Data()
            return String(decoding: data, as: UTF8.self)
        }
    }

    private func channel(_ origin: OriginServer, _ helper: Helper) -> String {
        """
        orders:
          upstream: http://127.0.0.1:\(origin.port)
          auth: { exec: [\(helper.path), --json] }
        """
    }

    @Test func `every secret that cannot be read is reported, with its place`() async throws {
        try await DaemonHarness.run(
            channels: """
                orders: { upstream: 'http://127.0.0.1:9', auth: { bearer: 'exec:/bin/false' } }
                bills: { upstream: 'http://127.0.0.1:9', auth: { bearer: 'exec:/bin/true' } }
                """
        ) { proxy in
            let lines = proxy.reports.filter { $0.hasPrefix("channel ") }.sorted()
            #expect(lines.count == 2)
            #expect(
                lines.last?.contains(": channels.orders.auth.bearer: /bin/false failed") == true
            )
            #expect(lines.first?.contains(": channels.bills.auth.bearer: ") == true)
        }
    }

    @Test func `a program runs once for its secret`() async throws {
        let helper = try Helper("echo c4nary-$(wc -l < environment | tr -d ' ')")
        let key = try Helper("openssl genpkey -algorithm ed25519")
        let server = try await OriginServer.start { request in
            request.startLine.contains("/token")
                ? Raw.ok(
                    #"{"access_token":"t","token_type":"Bearer","expires_in":3600}"#,
                    "Content-Type: application/json"
                ) : Raw.ok()
        }
        let url = "http://127.0.0.1:\(server.port)"
        let oauth = "token_url: \(url)/token, client_id: a"
        let channels = """
            orders:
              upstream: \(url)
              auth: { oauth: { \(oauth), client_secret: 'exec:\(helper.path)' } }
            bills:
              upstream: \(url)
              auth:
                oauth:
                  { \(oauth), client_auth: private_key_jwt,
                    client_key: { key: 'exec:\(key.path)', audience: b } }
            """
        try await DaemonHarness.run(channels: channels) { proxy in
            for path in ["/orders/1", "/bills/1"] {
                let answer = try await proxy.exchange(Raw.get(path))
                #expect(answer.status == 200)
            }
            #expect(helper.runs == 1)
            #expect(key.runs == 1)
            await proxy.reload(channels: channels)
            #expect(helper.runs == 2)
        }
    }

    /// Writes to a named pipe; returns false while no process reads it.
    private static func write(_ text: String, toFIFO path: String) -> Bool {
        let descriptor = unsafe open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do { try file.write(contentsOf: Data(text.utf8)) } catch { return false }
        return true
    }

    @Test func `a reload does not run a program again that a plan has run`() async throws {
        let key = try Helper("echo c4nary-$(wc -l < environment | tr -d ' ')")
        let gated = try Helper("mkfifo gate; cat gate")
        let access = "upstream: http://127.0.0.1:9, access: { key: 'exec:\(key.path)' }"
        try await DaemonHarness.run(channels: "orders: { \(access) }") { proxy in
            let channels = "orders: { \(access), auth: { bearer: 'exec:\(gated.path)' } }"
            async let reload = proxy.reload(channels: channels)
            let gate = "\(gated.directory)/gate"
            #expect(await eventually { FileManager.default.fileExists(atPath: gate) })
            let plan = try await proxy.plan()
            #expect(plan == ["changed: orders", "  channels.orders.auth.bearer: added"])
            #expect(await eventually { HelperStory.write("token\n", toFIFO: gate) })
            #expect(!(await reload).contains { $0.contains("was not reloaded") })
            #expect(key.runs == 2)
        }
    }

    @Test func `a helper runs once for many requests, and again after a 401`() async throws {
        let helper = try Helper(#"echo "{\"token\":\"c4nary-$count\",\"expires_in\":3600}""#)
        let origin = try await OriginServer.start { request in
            request["Authorization"] == "Bearer c4nary-2"
                ? Raw.ok()
                : Raw.response("401 Unauthorized", fields: ["WWW-Authenticate: Bearer"])
        }
        try await DaemonHarness.run(channels: channel(origin, helper)) { proxy in
            for _ in 0..<3 { #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200) }
            let lines = try await proxy.log("orders")
            #expect(lines.first?.facts.retries == ["unauthorized"])
            #expect(lines.last?.facts.auth?.kind == "exec")
            let logs = try await proxy.allLogs()
            #expect(!logs.contains("c4nary"))
        }
        #expect(
            helper.asked == [
                #"{"channel":"orders","reason":"initial","version":1}"#,
                #"{"channel":"orders","reason":"unauthorized","version":1}"#,
            ]
        )
    }

    @Test(arguments: ["Basic", "Token"])
    func `a helper runs again after a 401 with the scheme of its token`(
        scheme: String
    ) async throws {
        let helper = try Helper(
            #"echo "{\"token\":\"k$count\",\"expires_in\":3600,\"scheme\":\"\#(scheme)\"}""#
        )
        let origin = try await OriginServer.start { request in
            let challenge = "WWW-Authenticate: \(scheme) realm=\"api\""
            return request["Authorization"] == "\(scheme) k2"
                ? Raw.ok() : Raw.response("401 Unauthorized", fields: [challenge])
        }
        try await DaemonHarness.run(channels: channel(origin, helper)) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 200)
        }
        #expect(helper.asked.map { $0.contains("unauthorized") } == [false, true])
    }

    @Test func `the admin socket shows the state of a helper's token`() async throws {
        let helper = try Helper("echo c4nary-$count")
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(channels: channel(origin, helper)) { proxy in
            for target in ["/status", "/metrics", "/readyz"] {
                let answer = try await proxy.ask(Raw.get(target))
                #expect(answer.status == 200, "\(target)")
            }
            let change = "POST /channels/orders/token/refresh HTTP/1.1\r\nHost: localhost\r\n"
            let answer = try await proxy.ask(
                change + "Netproxy-Admin: 1\r\nContent-Length: 0\r\n\r\n"
            )
            #expect(answer.status == 200)
            #expect(helper.runs == 1)
            #expect(!answer.body.contains("c4nary"))
        }
    }

    @Test func `a bare token is a bearer token, and JSON can contain another scheme`() async throws
    {
        for (lines, field) in [
            ("echo bare-1", "Bearer bare-1"),
            (#"echo '{"token":"k","scheme":"Token"}'"#, "Token k"),
        ] {
            let helper = try Helper(lines)
            let origin = try await OriginServer.start { _ in Raw.ok() }
            try await DaemonHarness.run(channels: channel(origin, helper)) { proxy in
                let answer = try await proxy.exchange(Raw.get("/orders/1"))
                #expect(answer.status == 200)
            }
            #expect(origin.requests.first?["Authorization"] == field)
        }
    }

    @Test(arguments: [
        ("echo c4nary >&2; exit 2", "failed with status 2"),
        ("echo c4nary >&2; kill -9 $$", "was ended by signal 9"),
        ("true", "printed nothing"), ("echo a; echo b", "printed neither JSON nor one line"),
        (#"echo '{"tok":"c4nary"}'"#, "printed JSON that is not understood"),
        ("echo 'c4nary c4nary'", "characters that no field may hold"),
    ])
    func `the error of a failed helper is reported, and nothing is sent upstream`(
        lines: String,
        words: String
    ) async throws {
        let helper = try Helper(lines)
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(channels: channel(origin, helper)) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 503)
            #expect(answer.body.contains("credential_unavailable"))
            #expect(answer.body.contains(words))
            #expect(answer["Retry-After"] != nil)
            #expect(!answer.body.contains("c4nary"))
            let logs = try await proxy.allLogs()
            #expect(!logs.contains("c4nary"))
            // The operator sees the helper's standard error.
            let said = proxy.reports.filter { $0.contains("c4nary") }
            #expect(said.allSatisfy { $0.hasSuffix("said: c4nary") })
            #expect(said.isEmpty != lines.contains(">&2"))
        }
        #expect(origin.requests.isEmpty)
    }
}
