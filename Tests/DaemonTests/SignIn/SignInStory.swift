import Foundation
import NetproxyChannels
import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTP1
import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

@testable import NetproxyCommands

/// Sign-ins and sign-outs next to a running daemon.
@Suite struct SignInStory {
    /// The output that was printed for the person.
    private final class Terminal: Sendable {
        private let printed = Mutex<[String]>([])
        let hasPage = Gate()

        @Sendable func say(_ line: String) {
            printed.withLock { $0.append(line) }
            if line.contains("http") { hasPage.open() }
        }

        var lines: [String] { printed.withLock { $0 } }

        /// Waits for the page to open, and returns its query.
        func page() async throws -> [String: String] {
            try await hasPage.wait()
            let line = try #require(lines.first { $0.contains("http") && $0.contains("?") })
            var query: [String: String] = [:]
            for pair in line.split(separator: "?")[1].split(separator: "&") {
                let parts = pair.split(separator: "=", maxSplits: 1)
                query[String(parts[0])] = String(parts[1]).removingPercentEncoding ?? ""
            }
            return query
        }
    }

    /// Opens a redirect URL, like a browser.
    private func browse(
        _ redirect: String,
        _ query: String,
        host: String? = nil,
        of ip: String = "127.0.0.1"
    ) async throws -> RawMessage {
        try await visit(redirect, query, host: host, of: ip).message(.asFramed)
    }

    private func visit(
        _ redirect: String,
        _ query: String,
        host: String? = nil,
        of ip: String = "127.0.0.1"
    ) async throws -> Wire {
        let url = try #require(URLComponents(string: redirect))
        let authority = redirect.dropFirst("http://".count).split(separator: "/")[0]
        let path = url.path.isEmpty ? "/" : url.path
        let request =
            "GET \(path)?\(query) HTTP/1.1\r\nHost: \(host ?? String(authority))\r\n\r\n"
        return try await RawClient.connect(
            to: try #require(url.port),
            of: ip,
            sending: request
        )
    }

    private func signIn(_ proxy: DaemonHarness, _ terminal: Terminal) async throws -> SignIn {
        try await SignIn(
            "mail",
            of: try proxy.configuration(),
            environment: [:],
            say: terminal.say
        )
    }

    @Test func `a person signs in through a browser, works, and signs out`() async throws {
        let server = try await SignInServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let terminal = Terminal()
            let signIn = try await signIn(proxy, terminal)
            defer { signIn.close() }
            let signedIn = Task { try await signIn.throughBrowser() }
            let page = try await terminal.page()
            let redirect = try #require(page["redirect_uri"])
            #expect(redirect.hasPrefix("http://127.0.0.1:"))
            #expect(page["code_challenge_method"] == "S256")
            let state = try #require(page["state"])
            // Other requests to the redirect do not end the sign-in.
            #expect(try await browse(redirect, "code=evil&state=guess").status == 400)
            #expect(
                try await browse(redirect, "code=c&state=\(state)", host: "rebound.example").status
                    == 421
            )
            let answer = try await browse(redirect, "code=good&state=\(state)")
            #expect(answer.status == 200)
            #expect(answer.body.contains("You are signed in."))
            #expect(!answer.body.contains("c4nary"))
            try await signedIn.value
            let form = try #require(server.forms("/token").first)
            #expect(
                form.hasPrefix("grant_type=authorization_code&redirect_uri=http%3A%2F%2F127.0.0.1")
            )
            #expect(form.contains("&code=good&code_verifier="))
            #expect(server.forms("/token").count == 1)

            let work = try await proxy.exchange(Raw.get("/mail/inbox"))
            #expect(work.body == "mail")

            #expect(try await signIn.accessToken() == "c4nary-a")
            #expect(
                try await signIn.revoke().lines == [
                    "The server has revoked the refresh token.",
                    "The server has revoked the access token.",
                ]
            )
            try await signIn.forget()
            #expect(server.forms("/revoke").count == 2)
            await #expect(throws: SignIn.Failure.self) { try await signIn.accessToken() }
            #expect(!terminal.lines.joined().contains("c4nary"))
        }
    }

    @Test func `a browser on another machine ends at an address that the user pastes`() async throws
    {
        let server = try await SignInServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let terminal = Terminal()
            let signIn = try await signIn(proxy, terminal)
            defer { signIn.close() }
            let (lines, input) = AsyncStream<String>.makeStream()
            let signedIn = Task { try await signIn.throughBrowser(pasted: lines) }
            let page = try await terminal.page()
            let redirect = try #require(page["redirect_uri"])
            let state = try #require(page["state"])
            input.yield("")
            input.yield("yes")
            input.yield("\(redirect)?code=evil&state=guess")
            input.yield("  \(redirect)?code=good&state=\(state)#  ")
            try await signedIn.value
            #expect(terminal.lines.contains { $0.contains("it has no query") })
            #expect(terminal.lines.contains { $0.contains("does not belong to this sign-in") })
            #expect(server.forms("/token").count == 1)
            #expect(try await proxy.exchange(Raw.get("/mail/inbox")).body == "mail")
        }
    }

    private static var hasIPv6: Bool {
        guard let address = SocketAddress(ip: "::1", port: 0) else { return false }
        do throws(IOError) {
            _ = try ListeningSocket(address)
            return true
        } catch {
            return false
        }
    }

    @Test(arguments: ["http://localhost", "http://localhost/a/b", "http://127.0.0.1/"])
    func `a browser returns to the registered redirect`(registered: String) async throws {
        try await comeBack(to: registered, at: "127.0.0.1")
    }

    @Test(
        .enabled(if: hasIPv6, "the machine has no ::1"),
        arguments: ["http://localhost/a/b", "http://[::1]/back"]
    )
    func `a browser returns over IPv6`(registered: String) async throws {
        try await comeBack(to: registered, at: "::1")
    }

    private func comeBack(to registered: String, at ip: String) async throws {
        let server = try await SignInServer.start()
        let channel = server.channel() + "\n      redirect_uri: '\(registered)'"
        try await DaemonHarness.run(channels: channel) { proxy in
            let terminal = Terminal()
            let signIn = try await signIn(proxy, terminal)
            defer { signIn.close() }
            let signedIn = Task { try await signIn.throughBrowser() }
            let page = try await terminal.page()
            let redirect = try #require(page["redirect_uri"])
            var url = try #require(URLComponents(string: redirect))
            url.port = nil
            #expect(url.string == registered)
            let query = "code=good&state=\(page["state"] ?? "")"
            let elsewhere = ip == "::1" ? "127.0.0.1:1" : "rebound.example"
            #expect(try await browse(redirect, query, host: elsewhere, of: ip).status == 421)
            #expect(try await browse("\(redirect)/more", query, of: ip).status == 404)
            #expect(try await browse(redirect, query, of: ip).status == 200)
            try await signedIn.value
            let form = try #require(server.forms("/token").first)
            #expect(
                FormDecoding.decode(form).first { $0.name == "redirect_uri" }?.value == redirect
            )
        }
    }

    @Test(.enabled(if: hasIPv6, "the machine has no ::1"))
    func `a sign-in fails if another process listens on the other address of localhost`()
        async throws
    {
        let taken = try ListeningSocket(try #require(SocketAddress(ip: "::1", port: 0)))
        let port = try #require(taken.address.port)
        let server = try await SignInServer.start()
        let channel = server.channel() + "\n      redirect_uri: 'http://localhost:\(port)'"
        try await DaemonHarness.run(channels: channel) { proxy in
            let signIn = try await signIn(proxy, Terminal())
            defer { signIn.close() }
            await #expect {
                try await signIn.throughBrowser()
            } throws: {
                "\($0)".contains(":\(port): ")
            }
        }
        withExtendedLifetime(taken.address) {}
    }

    @Test func `the token of another configured refresh token is not revealed`() async throws {
        let server = try await SignInServer.start()
        let refresh = server.channel("refresh_token") + "\n      refresh_token: "
        try await DaemonHarness.run(channels: refresh + "literal:one") { proxy in
            #expect(try await proxy.exchange(Raw.get("/mail/inbox")).body == "mail")
            let one = try await signIn(proxy, Terminal())
            defer { one.close() }
            #expect(try await one.accessToken() == "c4nary-a")
            _ = await proxy.reload(channels: refresh + "literal:other")
            let other = try await signIn(proxy, Terminal())
            defer { other.close() }
            await #expect(throws: SignIn.Failure.self) { try await other.accessToken() }
        }
    }

    @Test func `a renewal waits while a sign-out revokes, since its tokens would stay valid`()
        async throws
    {
        let server = try await SignInServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let signIn = try await signIn(proxy, Terminal())
            defer { signIn.close() }
            let store = signIn.client.store
            var record = TokenRecord(authority: signIn.client.configuration.authority)
            (record.revision, record.refreshToken) = (1, Secret("held"))
            try await store.save(record, replacing: 0)
            let revoked = Task { try await signIn.revoke() }
            try await server.asked.wait()
            let clock = SystemClock()
            await #expect(throws: TokenStoreError.self) {
                try await store.lock(until: clock.now, clock: clock)
            }
            server.released.open()
            #expect(try await revoked.value.lines == ["The server has revoked the refresh token."])
            try await store.lock(until: clock.now + Wire.patience, clock: clock).release()
        }
    }

    @Test func `a signing client revokes with the time of the metadata server`()
        async throws
    {
        let hourAhead = Int(Date().timeIntervalSince1970) + 3600
        let server = try await OriginServer.start { request in
            let issuer = "http://" + (request["Host"] ?? "")
            let document = """
                {"issuer":"\(issuer)","token_endpoint":"\(issuer)/token",
                 "revocation_endpoint":"\(issuer)/revoke"}
                """
            let isDocument = request.startLine.contains("well-known")
            return Raw.ok(isDocument ? document : "", "Date: \(HTTPDate.text(UInt64(hourAhead)))")
        }
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "sign-in-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let yaml = """
            state: \(directory)
            log: { directory: \(directory) }
            channels:
              mail:
                upstream: http://127.0.0.1:\(server.port)
                auth:
                  oauth:
                    grant: authorization_code
                    issuer: http://127.0.0.1:\(server.port)
                    client_id: app
                    client_auth: private_key_jwt
                    client_key: { key: 'env:KEY' }
            """
        let key = """
            -----BEGIN PRIVATE KEY-----
            MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
            -----END PRIVATE KEY-----
            """
        let signIn = try await SignIn(
            "mail",
            of: try ConfigurationLoader.load(text: yaml, file: "n.yaml", environment: [:]).get(),
            environment: ["KEY": key],
            say: { _ in }
        )
        defer { signIn.close() }
        var record = TokenRecord(authority: signIn.client.configuration.authority)
        (record.revision, record.refreshToken) = (1, Secret("r"))
        let clock = SystemClock()
        // Creates the directory.
        try await signIn.client.store.lock(until: clock.now + Wire.patience, clock: clock).release()
        try await signIn.client.store.save(record, replacing: 0)
        #expect(try await signIn.revoke().lines == ["The server has revoked the refresh token."])
        let form = try #require(server.requests.last).body
        let assertion = try #require(
            FormDecoding.decode(form).first { $0.name == "client_assertion" }?.value
        )
        let claims = try #require(
            Base64URL.decode(String(assertion.split(separator: ".")[1]))
        )
        let text = String(decoding: claims, as: UTF8.self)
        let issued = try #require(text.firstMatch(of: /"iat":(\d+)/))
        // Within a minute of the server's time.
        #expect((hourAhead..<hourAhead + 60).contains(try #require(Int(issued.1))))
    }

    @Test func `a configured endpoint takes precedence over that of the metadata`() async throws {
        let server = try await SignInServer.start()
        let issuer = "http://127.0.0.1:\(server.origin.port)"
        let configured = "\n      revocation_url: \(issuer)/withdraw"
        try await DaemonHarness.run(channels: server.channel() + configured) { proxy in
            let signIn = try await signIn(proxy, Terminal())
            defer { signIn.close() }
            // The audience of the client's signed assertion.
            #expect(signIn.client.configuration.issuer == issuer)
            var record = TokenRecord(authority: signIn.client.configuration.authority)
            (record.revision, record.refreshToken) = (1, Secret("r"))
            try await signIn.client.store.save(record, replacing: 0)
            let said = try await signIn.revoke().lines
            #expect(said == ["The server has revoked the refresh token."])
            #expect(server.forms("/withdraw").count == 1)
            #expect(server.forms("/revoke").isEmpty)
        }
    }

    @Test(arguments: [true, false])
    func `missing metadata is an error only if an endpoint is not configured`(
        isConfigured: Bool
    ) async throws {
        let server = try await SignInServer.start()
        let issuer = "http://127.0.0.1:\(server.origin.port)"
        let gone = server.channel().replacing("issuer: \(issuer)", with: "issuer: \(issuer)/gone")
        let configured = isConfigured ? "\n      revocation_url: \(issuer)/withdraw" : ""
        try await DaemonHarness.run(channels: gone + configured) { proxy in
            let signIn = try await signIn(proxy, Terminal())
            defer { signIn.close() }
            var record = TokenRecord(authority: signIn.client.configuration.authority)
            (record.revision, record.refreshToken) = (1, Secret("r"))
            try await signIn.client.store.save(record, replacing: 0)
            let outcome = try await signIn.revoke()
            #expect(outcome.lines.count == (isConfigured ? 1 : 0))
            let failure = outcome.failures.first
            #expect(failure?.hasPrefix("the tokens were not revoked: ") ?? isConfigured)
            #expect(server.forms("/withdraw").count == (isConfigured ? 1 : 0))
        }
    }

    @Test func `a refused code is reported in the browser and the terminal`() async throws {
        let server = try await SignInServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let terminal = Terminal()
            let signIn = try await signIn(proxy, terminal)
            defer { signIn.close() }
            let signedIn = Task { try await signIn.throughBrowser() }
            let page = try await terminal.page()
            let answer = try await browse(
                try #require(page["redirect_uri"]),
                "code=bad&state=\(page["state"] ?? "")"
            )
            #expect(answer.status == 502)
            #expect(answer.body.contains("invalid_grant: &lt;b&gt;no&lt;/b&gt;"))
            #expect(answer.body.contains("run netproxy login mail again, and sign in without"))
            let failure = await #expect(throws: SignIn.Failure.self) { try await signedIn.value }
            #expect(failure?.description.contains("run netproxy login mail again") == true)
            // A code is presented only once.
            #expect(server.forms("/token").count == 1)
        }
    }

    @Test func `the page names channel and server, and does not rely on colors`() async throws {
        let server = try await SignInServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let terminal = Terminal()
            let signIn = try await signIn(proxy, terminal)
            defer { signIn.close() }
            let signedIn = Task { try await signIn.throughBrowser() }
            let page = try await terminal.page()
            let answer = try await browse(
                try #require(page["redirect_uri"]),
                "error=access_denied&state=\(page["state"] ?? "")"
            )
            for part in [
                "<title>✕ netproxy: The sign-in failed.</title>", "<dd>mail</dd>",
                "<dd>127.0.0.1:\(server.origin.port)</dd>", "access_denied",
                "To try once more, run netproxy login mail again", "name=\"viewport\"",
                "prefers-color-scheme: dark",
            ] {
                #expect(answer.body.contains(part), "\(part)")
            }
            let policy = try #require(answer["Content-Security-Policy"])
            #expect(policy.hasPrefix("default-src 'none'; style-src 'nonce-"))
            #expect(!policy.contains("script-src") && !answer.body.contains("<script"))
            await #expect(throws: SignIn.Failure.self) { try await signedIn.value }
        }
    }

    @Test func `a redirect with a wrong or missing state is reported once in the terminal`()
        async throws
    {
        let server = try await SignInServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let terminal = Terminal()
            let signIn = try await signIn(proxy, terminal)
            defer { signIn.close() }
            let signedIn = Task { try await signIn.throughBrowser() }
            let page = try await terminal.page()
            let redirect = try #require(page["redirect_uri"])
            for query in ["code=c&state=guess", "error=access_denied", "error=other", "state=x"] {
                let answer = try await browse(redirect, query)
                #expect(answer.status == 400)
                #expect(answer.body.contains("Open the page that the terminal names."))
            }
            let told = terminal.lines.filter { $0.contains("does not belong to this sign-in") }
            #expect(told.count == 2)
            #expect(told.first?.contains("its state is not that of this sign-in") == true)
            #expect(told.last?.contains("it has no state, and it says access_denied") == true)
            let query = "code=good&state=\(page["state"] ?? "")"
            #expect(try await browse(redirect, query).status == 200)
            try await signedIn.value
        }
    }

    @Test func `closing or reloading the page does not lose the sign-in`() async throws {
        let server = try await SignInServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let terminal = Terminal()
            let signIn = try await signIn(proxy, terminal)
            defer { signIn.close() }
            let signedIn = Task { try await signIn.throughBrowser() }
            let page = try await terminal.page()
            let redirect = try #require(page["redirect_uri"])
            let query = "code=held&state=\(page["state"] ?? "")"
            let first = try await visit(redirect, query)
            try await server.asked.wait()
            try await first.close()
            let second = try await visit(redirect, query)
            server.released.open()
            let answer = try await second.message(.asFramed)
            #expect(answer.status == 200)
            #expect(answer.body.contains("You are signed in."))
            try await signedIn.value
            #expect(server.forms("/token").count == 1)
        }
    }

    @Test func `a person signs in on another device`() async throws {
        let server = try await SignInServer.start()
        try await DaemonHarness.run(channels: server.channel("device_code")) { proxy in
            let terminal = Terminal()
            let signIn = try await signIn(proxy, terminal)
            defer { signIn.close() }
            #expect(signIn.prefersDevice)
            // Waits for one poll interval of a real server, which is at least a second.
            try await signIn.onAnotherDevice()
            #expect(terminal.lines.contains("  ABCD"))
            #expect(terminal.lines.contains("The code is good for 1 min 30 s."))
            #expect(try await proxy.exchange(Raw.get("/mail/inbox")).body == "mail")
        }
    }

    @Test func `a sign-in whose tokens could not be stored is refused`() async throws {
        let server = try await SignInServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let terminal = Terminal()
            var configuration = try proxy.configuration()
            configuration.state += "/other"
            // A directory has the name of the lock.
            try FileManager.default.createDirectory(
                atPath: "\(configuration.state)/mail.lock",
                withIntermediateDirectories: true
            )
            let signIn = try await SignIn(
                "mail",
                of: configuration,
                environment: [:],
                say: terminal.say
            )
            defer { signIn.close() }
            let ways: [() async throws -> Void] = [
                { try await signIn.throughBrowser() }, { try await signIn.onAnotherDevice() },
            ]
            for work in ways {
                let failure = await #expect(throws: SignIn.Failure.self) { try await work() }
                #expect(failure?.description.hasPrefix("the tokens could not be stored: ") == true)
            }
            #expect(terminal.lines.isEmpty)
        }
    }

    @Test func `client_credentials requires no sign-in`() async throws {
        let server = try await SignInServer.start()
        let channel = server.channel("client_credentials")
        try await DaemonHarness.run(channels: channel) { proxy in
            let signIn = try await signIn(proxy, Terminal())
            defer { signIn.close() }
            await #expect(throws: SignIn.Failure.self) { try await signIn.throughBrowser() }
        }
    }

    @Test func `before a sign-in the error tells the client that a person must sign in`()
        async throws
    {
        let server = try await SignInServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let answer = try await proxy.exchange(Raw.get("/mail/inbox"))
            #expect(answer.status == 503)
            #expect(answer.body.contains("reauthorization_required"))
        }
    }
}
