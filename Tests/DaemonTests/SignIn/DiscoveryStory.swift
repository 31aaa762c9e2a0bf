import Foundation
import NetproxyConfig
import NetproxyEventIO
import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

@testable import NetproxyCommands
@testable import NetproxyService

/// Sign-ins to a resource of which only the URL is known.
@Suite struct DiscoveryStory {
    /// A user with a browser that signs in automatically, and the printed output.
    final class User: Sendable {
        private let printed = Mutex<[String]>([])
        private let queries = Mutex<[[String: String]]>([])

        var text: String { printed.withLock { $0.joined(separator: "\n") } }
        /// The queries of the opened pages.
        var pages: [[String: String]] { queries.withLock { $0 } }

        @Sendable func say(_ line: String) {
            printed.withLock { $0.append(line) }
            guard line.contains("/authorize?"),
                let url = URLComponents(string: String(line.dropFirst(2)))
            else { return }
            var query: [String: String] = [:]
            for item in url.queryItems ?? [] { query[item.name] = item.value }
            queries.withLock { $0.append(query) }
            Task { [query] in try await User.comeBack(query) }
        }

        private static func comeBack(_ query: [String: String]) async throws {
            let redirect = try #require(query["redirect_uri"].flatMap { URLComponents(string: $0) })
            let port = try #require(redirect.port)
            let request =
                "GET \(redirect.path)?code=good&state=\(query["state"] ?? "") HTTP/1.1\r\n"
                + "Host: 127.0.0.1:\(port)\r\n\r\n"
            _ = try await RawClient.connect(to: port, sending: request).message(.asFramed)
        }
    }

    func session(_ proxy: DaemonHarness, _ user: User) async throws -> SignIn {
        try await SignIn(
            "tools",
            of: try proxy.configuration(),
            environment: [:],
            say: user.say
        )
    }

    /// Performs `netproxy login`.
    func logIn(
        _ proxy: DaemonHarness,
        _ user: User,
        adding scopes: [String] = [],
        registering registration: SignIn.Registration = .whenNeeded
    ) async throws {
        var session = try await session(proxy, user)
        defer { session.close() }
        try await session.discover(adding: scopes, registering: registration)
        try await session.throughBrowser()
        let adopted = try await ask("POST", "/channels/tools/token/adopt", proxy)
        #expect(adopted.status == 200, "\(adopted.body)")
    }

    private func ask(
        _ method: String,
        _ path: String,
        _ proxy: DaemonHarness
    ) async throws -> RawMessage {
        try await proxy.ask(Raw.request(method, path, fields: ["Netproxy-Admin: 1"]))
    }

    func status(_ proxy: DaemonHarness) async throws -> DaemonStatus.Token {
        let text = try await ask("GET", "/status", proxy).body
        return try #require(DaemonStatus(json: text)?.channels.first?.token)
    }

    @Test func `a user signs in with only the upstream's URL`() async throws {
        let server = try await ProtectedServer.start()
        let base = "http://127.0.0.1:\(server.origin.port)"
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let before = try await proxy.exchange(Raw.get("/tools"))
            #expect(before.status == 503)
            #expect(before.body.contains("netproxy login tools"))
            #expect(try await status(proxy).advice == "netproxy login tools")
            // No request has been sent yet.
            #expect(server.origin.requests.isEmpty)

            let user = User()
            try await logIn(proxy, user)
            #expect(user.text.contains("tools (\(base)/mcp) is protected by \(base)/as."))
            #expect(user.text.contains("as the client client-1 (registered now)"))
            #expect(user.text.contains("for the scopes read."))
            #expect(user.text.contains("https://other.example, which is not used"))
            let page = try #require(user.pages.first)
            #expect(page["client_id"] == "client-1")
            #expect(page["scope"] == "read")
            #expect(page["resource"] == "\(base)/mcp")
            #expect(page["code_challenge_method"] == "S256")
            let registration = try #require(server.bodies("/register").first)
            #expect(registration.contains(page["redirect_uri"] ?? "?"))
            let form = try #require(server.bodies("/token").first)
            #expect(form.contains("client_secret=c4nary-s1"))
            #expect(form.contains("resource=http%3A%2F%2F127.0.0.1%3A"))

            #expect(try await proxy.exchange(Raw.get("/tools")).body == "tools")
            let token = try await status(proxy)
            #expect(token.issuer == "\(base)/as")
            #expect(token.client == "client-1")
            #expect(token.clientKind == "registered")
            #expect(token.resource == "\(base)/mcp")
            #expect(
                token.summary(of: "tools").contains(
                    "from \(base)/as for \(base)/mcp as the client client-1 (registered)"
                )
            )
            #expect(!user.text.contains("c4nary"))
        }
    }

    @Test func `the next sign-in uses the same client and redirect`() async throws {
        let server = try await ProtectedServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let user = User()
            try await logIn(proxy, user)
            try await logIn(proxy, user)
            #expect(server.bodies("/register").count == 1)
            #expect(user.pages.map { $0["client_id"] } == ["client-1", "client-1"])
            #expect(user.pages[0]["redirect_uri"] == user.pages[1]["redirect_uri"])
            #expect(try await proxy.exchange(Raw.get("/tools")).body == "tools")
        }
    }

    @Test func `a busy redirect port requires another client`() async throws {
        let server = try await ProtectedServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let user = User()
            try await logIn(proxy, user)
            let redirect = try #require(user.pages[0]["redirect_uri"].flatMap(URLComponents.init))
            let port = UInt16(try #require(redirect.port))
            let taken = try ListeningSocket(
                try #require(SocketAddress(ip: "127.0.0.1", port: port))
            )
            try await logIn(proxy, user)
            #expect(user.pages[1]["client_id"] != "client-1")
            #expect(try await proxy.exchange(Raw.get("/tools")).body == "tools")
            withExtendedLifetime(taken.address) {}
        }
    }

    @Test(arguments: ["issuer", "resource"])
    func `a changed server is refused until the user signs out`(what: String) async throws {
        let server = try await ProtectedServer.start()
        let base = "http://127.0.0.1:\(server.origin.port)"
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let user = User()
            try await logIn(proxy, user)
            server.rules.withLock { rules in
                if what == "issuer" { rules.issuer = "/evil" } else { rules.resource = "/" }
            }
            let before = server.origin.requests.count
            await #expect {
                try await logIn(proxy, user)
            } throws: { error in
                let words = "\(error)"
                return words.contains(
                    what == "issuer"
                        ? "the authorization server was \(base)/as and is now \(base)/evil"
                        : "the resource was \(base)/mcp and is now \(base)/"
                ) && words.contains("netproxy logout tools")
            }
            let after = server.origin.requests.dropFirst(before)
            #expect(after.allSatisfy { !$0.startLine.contains("oauth-authorization-server") })
            // The tokens of the trusted server stay in use.
            #expect(try await proxy.exchange(Raw.get("/tools")).body == "tools")

            #expect(try await ask("DELETE", "/channels/tools/token", proxy).status == 200)
            #expect(try await proxy.exchange(Raw.get("/tools")).status == 503)
            #expect(try await status(proxy).issuer == nil)
            try await logIn(proxy, user)
            #expect(try await proxy.exchange(Raw.get("/tools")).body == "tools")
        }
    }

    @Test func `a client that its server has forgotten is registered again at the next sign-in`()
        async throws
    {
        let server = try await ProtectedServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let user = User()
            try await logIn(proxy, user)
            server.rules.withLock { ($0.clients, $0.tokens) = ([], []) }
            _ = try await proxy.exchange(Raw.get("/tools"))
            let token = try await status(proxy)
            #expect(token.state == "dead")
            #expect(token.lastError?.contains("invalid_client") == true)
            #expect(token.advice == "netproxy login tools")
            try await logIn(proxy, user)
            #expect(user.pages.last?["client_id"] != "client-1")
            #expect(try await proxy.exchange(Raw.get("/tools")).body == "tools")
        }
    }

    @Test func `a client that is unknown at the token request is replaced immediately`()
        async throws
    {
        let server = try await ProtectedServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let user = User()
            try await logIn(proxy, user)
            server.rules.withLock { $0.clients = [] }
            var session = try await session(proxy, user)
            defer { session.close() }
            try await session.discover()
            do {
                try await session.throughBrowser()
                Issue.record("the server knows the client")
            } catch let error as SignIn.Failure {
                #expect(session.needsAnotherClient(after: error))
            }
            try await logIn(proxy, user, registering: .again)
            #expect(try await proxy.exchange(Raw.get("/tools")).body == "tools")
        }
    }

    @Test func `a scope that the API requires is requested in addition to the others`() async throws
    {
        let server = try await ProtectedServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let user = User()
            try await logIn(proxy, user)
            let refused = try await proxy.exchange(Raw.get("/tools/write"))
            #expect(refused.status == 403)
            #expect(
                refused["WWW-Authenticate"]
                    == #"Bearer error="insufficient_scope", scope="write""#
            )
            let wanted = try #require(try await status(proxy).wantedScope)
            #expect(wanted == "write")
            server.rules.withLock { $0.missing = nil }
            try await logIn(proxy, user, adding: [wanted])
            #expect(user.pages.last?["scope"] == "read+write")
            // The client was not registered for this scope.
            #expect(user.pages.last?["client_id"] != "client-1")
            #expect(try await status(proxy).wantedScope == nil)
            #expect(try await proxy.exchange(Raw.get("/tools/write")).status == 200)
            // The next sign-in keeps the scope.
            try await logIn(proxy, user)
            #expect(user.pages.last?["scope"] == "read+write")
        }
    }

    @Test func `the client learns nothing with which it could sign in itself`() async throws {
        let server = try await ProtectedServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            try await logIn(proxy, User())
            server.rules.withLock { $0.tokens = [] }
            for place in [
                "/tools/.well-known/oauth-protected-resource",
                "/tools/.well-known/oauth-protected-resource/mcp",
                "/tools/.well-known/oauth-authorization-server",
                "/tools/.well-known/openid-configuration?x=1",
                "/tools/%2ewell-known/./openid-configuration",
            ] {
                let answer = try await proxy.exchange(Raw.get(place))
                #expect(answer.status == 404)
                #expect(answer.body.contains("netproxy signs in to this API by itself"))
            }
            let before = server.origin.requests.count
            _ = try await proxy.exchange(Raw.get("/tools/.well-known/oauth-protected-resources"))
            #expect(server.origin.requests.count > before)
        }
    }

    @Test func `a 401 is forwarded without the URL of the metadata`() async throws {
        let challenge = #"Bearer error="invalid_token", resource_metadata="https://e.example/m""#
        let server = try await OriginServer.start { _ in
            Raw.response("401 Unauthorized", fields: ["WWW-Authenticate: \(challenge)"])
        }
        let channels = """
            bare:
              upstream: http://127.0.0.1:\(server.port)
            guarded:
              upstream: http://127.0.0.1:\(server.port)
              auth: { bearer: 'literal:only-an-example' }
            """
        try await DaemonHarness.run(channels: channels) { proxy in
            let guarded = try await proxy.exchange(Raw.get("/guarded/x"))
            #expect(guarded.status == 401)
            #expect(guarded["WWW-Authenticate"] == #"Bearer error="invalid_token""#)
            // If the channel has no credential, the client signs in itself.
            let bare = try await proxy.exchange(Raw.get("/bare/x"))
            #expect(bare["WWW-Authenticate"] == challenge)
        }
    }

    @Test func `a restart keeps the trusted server`() async throws {
        let server = try await ProtectedServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            try await logIn(proxy, User())
            // Recreated from the store alone, as after a restart.
            await proxy.reload(channels: server.channel() + "\n  timeouts: { total: 1m }")
            let seen = server.origin.requests.count
            #expect(try await proxy.exchange(Raw.get("/tools")).body == "tools")
            let asked = server.origin.requests.dropFirst(seen).map(\.startLine)
            #expect(asked == ["GET /mcp HTTP/1.1"])
        }
    }

    /// Signs in as on another machine, without notifying the daemon.
    private func logInElsewhere(_ proxy: DaemonHarness) async throws {
        var session = try await session(proxy, User())
        defer { session.close() }
        try await session.discover(adding: [], registering: .whenNeeded)
        try await session.throughBrowser()
    }

    @Test func `a sign-in of another process is adopted together with its server`()
        async throws
    {
        let server = try await ProtectedServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            #expect(try await proxy.exchange(Raw.get("/tools")).status == 503)
            try await logInElsewhere(proxy)
            // Reads the store immediately; a watch, or a request a few seconds later, would also do so.
            _ = try await ask("POST", "/channels/tools/token/refresh", proxy)
            #expect(
                await eventually {
                    (try? await proxy.exchange(Raw.get("/tools")).body) == "tools"
                }
            )
            #expect(try await status(proxy).issuer == "\(server.base)/as")
        }
    }

    private func setMode(_ mode: Int, of file: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    }

    @Test func `a discovered server stays in use while the store cannot be read`() async throws {
        let server = try await ProtectedServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            try await logIn(proxy, User())
            let file = "\(try proxy.configuration().state)/tools.json"
            // Others could have modified the file.
            try setMode(0o666, of: file)
            await proxy.reload(channels: server.channel() + "\n  timeouts: { total: 1m }")
            #expect(try await status(proxy).issuer == "\(server.base)/as")
            try setMode(0o600, of: file)
            #expect(
                await eventually {
                    (try? await proxy.exchange(Raw.get("/tools")).body) == "tools"
                }
            )
        }
    }

    @Test func `a token is sent only to the upstream for which it was issued`() async throws {
        let server = try await ProtectedServer.start()
        let other = try await OriginServer.start { _ in Raw.ok("other") }
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            try await logIn(proxy, User())
            let moved = server.channel().replacing(
                ":\(server.origin.port)/",
                with: ":\(other.port)/"
            )
            await proxy.reload(channels: moved)
            let answer = try await proxy.exchange(Raw.get("/tools"))
            #expect(answer.status == 503)
            let words =
                "the stored sign-in is for another resource, \(server.base)/mcp: netproxy login tools"
            #expect(answer.body.contains(words))
            let token = try await status(proxy)
            #expect(token.otherResource == "\(server.base)/mcp")
            #expect(token.summary(of: "tools").contains(words))
            #expect(other.requests.isEmpty)
            // A token for another resource is not reported as a new sign-in.
            #expect(!proxy.reports.contains { $0.contains("another process has signed in") })
            await proxy.reload(channels: server.channel())
            #expect(try await proxy.exchange(Raw.get("/tools")).body == "tools")
        }
    }
}
