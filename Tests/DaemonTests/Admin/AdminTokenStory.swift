import FoundationEssentials
import TestSupport
import Testing

/// The token commands of the admin socket.
@Suite struct AdminTokenStory {
    private func run(_ story: (DaemonHarness, OriginServer) async throws -> Void) async throws {
        let server = try await OriginServer.start { _ in
            Raw.ok(
                #"{"access_token":"c4nary-a","token_type":"Bearer","expires_in":3600}"#,
                "Content-Type: application/json"
            )
        }
        let oauth = """
            grant: refresh_token, refresh_token: literal:seed, client_id: a, client_auth: none, \
            token_url: 'http://127.0.0.1:\(server.port)/token'
            """
        try await DaemonHarness.run(
            channels: """
                mail: { upstream: http://127.0.0.1:9, auth: { oauth: { \(oauth) } } }
                plain: { upstream: http://127.0.0.1:9 }
                """
        ) { try await story($0, server) }
    }

    private func ask(
        _ method: String,
        _ target: String,
        _ proxy: DaemonHarness
    ) async throws -> RawMessage {
        try await proxy.ask(Raw.request(method, target, fields: ["Netproxy-Admin: 1"]))
    }

    @Test func `the response describes the change`() async throws {
        try await run { proxy, server in
            let path = "/channels/mail/token"
            for (method, target, text) in [
                ("POST", "\(path)/refresh", "the token of mail was renewed\n"),
                ("POST", "\(path)/adopt", "the stored tokens of mail are in force\n"),
                ("DELETE", path, "the tokens of mail are forgotten\n"),
            ] {
                let answer = try await ask(method, target, proxy)
                #expect((answer.status, answer.body) == (200, text))
            }
            #expect(server.requests.count == 1)
            // The record of a sign-out stays; it has no token.
            let record = try String(
                contentsOfFile: "\(proxy.directory)/state/mail.json",
                encoding: .utf8
            )
            #expect(record.contains("signed_out_at") && !record.contains("refresh_token"))
        }
    }

    @Test(arguments: ["plain", "nobody"])
    func `a channel without tokens is 404`(name: String) async throws {
        try await run { proxy, server in
            let path = "/channels/\(name)/token"
            for (method, target) in [
                ("POST", "\(path)/refresh"), ("POST", "\(path)/adopt"), ("DELETE", path),
            ] {
                let answer = try await ask(method, target, proxy)
                #expect(answer.status == 404)
                #expect(answer.body.contains("there is no channel or identity \(name) with tokens"))
            }
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `a token that cannot be read or removed causes a server error`() async throws {
        try await run { proxy, _ in
            let state = "\(proxy.directory)/state"
            // By now the store has been read at the start.
            #expect(try await ask("POST", "/channels/mail/token/adopt", proxy).status == 200)
            try FileManager.default.removeItem(atPath: "\(state)/mail.lock")
            // Directories now have the names of the token file and its lock.
            for name in ["mail.json", "mail.lock"] {
                try FileManager.default.createDirectory(
                    atPath: "\(state)/\(name)",
                    withIntermediateDirectories: false
                )
            }
            let adopted = try await ask("POST", "/channels/mail/token/adopt", proxy)
            #expect(adopted.status == 503)
            #expect(adopted.body.contains("state/mail."))
            let forgotten = try await ask("DELETE", "/channels/mail/token", proxy)
            #expect(forgotten.status == 500)
            #expect(forgotten.body.contains("mail.lock"))
        }
    }
}
