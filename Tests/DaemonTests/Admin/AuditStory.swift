import FoundationEssentials
import Glibc
import NetproxyCommands
import NetproxyConfig
import NetproxyRequestLog
import NetproxySettings
import TestSupport
import Testing

@testable import NetproxyChannels
@testable import NetproxyService

/// The audit log of credential and configuration changes (contract section 10).
@Suite struct AuditStory {
    private func run(
        root: String = "",
        _ story: (DaemonHarness) async throws -> Void
    ) async throws {
        let origin = try await OriginServer.start { _ in
            Raw.ok(
                #"{"access_token":"c4nary-a","token_type":"Bearer","expires_in":3600}"#,
                "Content-Type: application/json"
            )
        }
        let base = "http://127.0.0.1:\(origin.port)"
        let oauth = """
            grant: refresh_token, refresh_token: literal:seed, client_id: a, client_auth: none, \
            token_url: '\(base)/token'
            """
        try await DaemonHarness.run(
            channels: """
                mail: { upstream: '\(base)', auth: { oauth: { \(oauth) } } }
                plain: { upstream: '\(base)' }
                """,
            root: "admin: \"unix:DIRECTORY/admin.sock\"\n\(root)",
            story
        )
    }

    private func lines(_ proxy: DaemonHarness) async throws -> [Line] {
        await proxy.stop()
        return try Line.all(at: "\(proxy.directory)/log/netproxy.log").filter {
            $0["event"]?.text == "audit"
        }
    }

    private func lease(_ query: String, _ proxy: DaemonHarness) async throws -> (ClientLease, Wire)
    {
        let wire = try await proxy.admin(
            sending: Raw.request("POST", "/keys\(query)", fields: ["Netproxy-Admin: 1"])
        )
        try await wire.read(through: "\r\n\r\n")
        try await wire.read(through: "\r\n")
        return (try #require(ClientLease(json: try await wire.read(through: "}\n"))), wire)
    }

    @Test func `each change is one line with the user and the process`() async throws {
        try await run { proxy in
            for (method, path) in [
                ("POST", "/channels/mail/token/refresh"), ("POST", "/channels/mail/token/adopt"),
                ("POST", "/channels/mail/token/revealed"), ("DELETE", "/channels/mail/token"),
                ("POST", "/reload"),
            ] {
                let request = Raw.request(method, path, fields: ["Netproxy-Admin: 1"])
                #expect(try await proxy.ask(request).status == 200)
            }
            // Neither reading the status nor planning a reload is recorded.
            #expect(try await proxy.ask(Raw.get("/status")).status == 200)
            #expect(try await proxy.ask(Raw.request("POST", "/reload?plan")).status == 200)
            let lines = try await lines(proxy)
            let actions = lines.map { $0["action"]?.text }
            #expect(actions == ["refresh", "login", "reveal", "logout", "reload"])
            #expect(lines.map { $0["channel"]?.text } == ["mail", "mail", "mail", "mail", nil])
            for line in lines {
                #expect(line["client"]?.text == "unix")
                #expect(line["client_uid"]?.integer == Int(getuid()))
                #expect(line["client_pid"]?.integer == Int(getpid()))
                #expect(line["level"]?.text == "info")
            }
        }
    }

    @Test func `a failed change is recorded with the reason`() async throws {
        try await run { proxy in
            proxy.replaceConfiguration(with: "channels: []")
            let request = Raw.request("POST", "/reload", fields: ["Netproxy-Admin: 1"])
            #expect(try await proxy.ask(request).status == 422)
            let line = try #require(try await lines(proxy).first)
            #expect(line["level"]?.text == "warning")
            #expect(line["detail"]?.text?.hasPrefix("story.yaml:1:1: ") == true)
        }
    }

    @Test func `an exchange with a lent key records the key's ID but not the key`() async throws {
        try await run(root: "unmatched: forward") { proxy in
            let (lease, wire) = try await lease("?channel=plain&channel=mail", proxy)
            let field = "Proxy-Authorization: Bearer \(lease.key)"
            #expect(try await proxy.exchange(Raw.get("/plain/1", field)).status == 200)
            #expect(try await proxy.exchange(Raw.get("/plain/2")).status == 200)
            let api = "Authorization: Bearer \(lease.key)"
            #expect(try await proxy.exchange(Raw.get("/plain/3", api)).status == 200)
            try await wire.close()
            #expect(
                await eventually {
                    let text = try? Line.all(at: "\(proxy.directory)/log/netproxy.log")
                    return text?.contains { $0["action"]?.text == "end" } == true
                }
            )
            // The same applies if no channel claims the request; this lease lasts until the stop.
            let (last, held) = try await self.lease("", proxy)
            let own = "Proxy-Authorization: Bearer \(last.key)"
            let stray = "GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\(own)\r\n\r\n"
            #expect(try await proxy.exchange(stray).status == 403)
            let audit = try await lines(proxy)
            #expect(try await held.rest().end == .closed)
            #expect(audit.map { $0["action"]?.text } == ["lend", "end", "lend", "end"])
            #expect(audit.map { $0["channel"]?.text } == ["mail, plain", "mail, plain", nil, nil])
            let ids = audit.map { $0["client_key"]?.text }
            #expect(ids[0] == ids[1] && ids[2] == ids[3] && ids[0] != ids[2])
            let used = try await proxy.log("plain").map {
                Line(Array($0.text.utf8))?["client_key"]?.text
            }
            #expect(used == [ids[0], nil, ids[0]])
            let unclaimed = try await proxy.log("netproxy")
            #expect(unclaimed.map { Line(Array($0.text.utf8))?["client_key"]?.text } == [ids[2]])
            let text = try await proxy.allLogs()
            #expect(!text.contains(lease.key) && !text.contains(last.key))
        }
    }

    @Test(arguments: [LogFormat.json, .logfmt])
    func `a command without a daemon writes the audit line itself`(format: LogFormat)
        async throws
    {
        try await DaemonHarness.run(channels: "a: { upstream: http://127.0.0.1:1 }") { proxy in
            await proxy.stop()
            var settings = try proxy.configuration().log
            settings.directory = "\(proxy.directory)/other"
            settings.format = format
            await Audit.reveal.recordHere(of: "mail", in: settings) { Issue.record("\($0)") }
            await Audit.login.recordHere(of: "mail", in: settings) { Issue.record("\($0)") }
            let path = "\(settings.directory)/netproxy.log"
            let lines = try Line.all(at: path)
            #expect(lines.map { $0["action"]?.text } == ["reveal", "login"])
            #expect(lines.map { $0["client"]?.text } == ["command", "command"])
            #expect(lines[0]["client_pid"]?.integer == Int(getpid()))
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
            #expect(mode.map { "\($0)" } == "\(0o640)")
        }
    }

    @Test func `a log that cannot be written is reported`() async throws {
        try await DaemonHarness.run(channels: "a: { upstream: http://127.0.0.1:1 }") { proxy in
            var settings = try proxy.configuration().log
            settings.directory = "/dev/null/log"
            let reports = AsyncStream.makeStream(of: String.self)
            await Audit.reveal.recordHere(of: "mail", in: settings) {
                reports.continuation.yield($0)
            }
            reports.continuation.finish()
            let said = await reports.stream.reduce(into: []) { $0.append($1) }
            #expect(said.count == 1 && said[0].hasPrefix("no audit line was written: "))
        }
    }
}

private typealias Line = NetproxyRequestLog.LogLine

extension Line {
    fileprivate static func all(at path: String) throws -> [Line] {
        let data = try #require(FileManager.default.contents(atPath: path))
        return try data.split(separator: UInt8(ascii: "\n")).map { line in
            try #require(Line(Array(line)))
        }
    }
}
