import Foundation
import NetproxyConfig
import NetproxyService
import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

@testable import NetproxyCommands

/// The choice among the servers that a resource names, and refusals before anything is sent to a server.
extension DiscoveryStory {
    @Test func `the next server is used if the metadata of the first is unavailable`()
        async throws
    {
        let server = try await ProtectedServer.start()
        let base = server.base
        server.rules.withLock { $0.servers = ["\(base)/gone", "\(base)/as"] }
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let user = User()
            try await logIn(proxy, user)
            #expect(user.text.contains("The server \(base)/gone cannot be used: "))
            #expect(user.text.contains("is protected by \(base)/as."))
            // The trusted server stays in use, even if the first one has returned.
            server.rules.withLock { $0.servers = ["\(base)/back", "\(base)/as"] }
            let seen = server.origin.requests.count
            try await logIn(proxy, user)
            let asked = server.origin.requests.dropFirst(seen)
            #expect(asked.allSatisfy { !$0.startLine.contains("/back") })
        }
    }

    @Test func `if no server has metadata, all are listed with the reason`() async throws {
        let server = try await ProtectedServer.start()
        let base = server.base
        server.rules.withLock { $0.servers = ["\(base)/one", "\(base)/two"] }
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            await #expect {
                try await logIn(proxy, User())
            } throws: { error in
                let words = "\(error)"
                return words.contains("\(base)/one: ") && words.contains("; \(base)/two: ")
                    && words.contains("(401)")
            }
        }
    }

    @Test func `a root issuer is stored as the server spells it`() async throws {
        let server = try await ProtectedServer.start()
        let base = server.base
        server.rules.withLock { ($0.issuer, $0.servers) = ("", ["\(base)/"]) }
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let user = User()
            try await logIn(proxy, user)
            #expect(try await status(proxy).issuer == base)
            #expect(try await proxy.exchange(Raw.get("/tools")).body == "tools")
            try await logIn(proxy, user)
            #expect(server.bodies("/register").count == 1)
        }
    }

    @Test func `a server without S256 is refused before a client is registered`() async throws {
        let server = try await ProtectedServer.start()
        server.rules.withLock { $0.metadata = #","code_challenge_methods_supported":["plain"]"# }
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            await #expect {
                try await logIn(proxy, User())
            } throws: { "\($0)".contains("PKCE with S256") }
            #expect(server.bodies("/register").isEmpty)
        }
    }

    @Test func `a server without device codes is refused before a client is registered`()
        async throws
    {
        let server = try await ProtectedServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            var session = try await session(proxy, User())
            defer { session.close() }
            do {
                try await session.discover(by: .device)
                Issue.record("the server has no device authorization endpoint")
            } catch let error as SignIn.Failure {
                #expect(error.description.contains("names no device authorization endpoint"))
            }
            #expect(server.bodies("/register").isEmpty)
        }
    }

    @Test func `an unusable store is reported before any request`() async throws {
        let server = try await ProtectedServer.start()
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            var configuration = try proxy.configuration()
            configuration.state += "/other"
            // A directory has the name of the lock.
            try FileManager.default.createDirectory(
                atPath: "\(configuration.state)/tools.lock",
                withIntermediateDirectories: true
            )
            var session = try await SignIn(
                "tools",
                of: configuration,
                environment: [:],
                say: { _ in }
            )
            defer { session.close() }
            do {
                try await session.discover()
                Issue.record("the tokens could be stored")
            } catch let error as SignIn.Failure {
                #expect(error.description.hasPrefix("the tokens could not be stored: "))
            }
            #expect(server.origin.requests.isEmpty)
        }
    }

    @Test func `a client's secret goes to no other server than its issuer`() async throws {
        let server = try await ProtectedServer.start()
        server.rules.withLock { _ = $0.clients.insert("given") }
        let client = "client_id: given, client_secret: literal:c4nary-own, client_auth: post"
        for (issuer, isRight) in [
            ("https://login.example.com", false), ("\(server.base)/as", true),
        ] {
            let oauth = "auth: { oauth: { discover: true, issuer: '\(issuer)', \(client) } }"
            let channel = "tools:\n  upstream: \(server.base)/mcp\n  \(oauth)"
            try await DaemonHarness.run(channels: channel) { proxy in
                if isRight {
                    try await logIn(proxy, User())
                    #expect(server.bodies("/token").allSatisfy { $0.contains("c4nary-own") })
                } else {
                    await #expect {
                        try await logIn(proxy, User())
                    } throws: { error in
                        "\(error)".contains("auth.oauth.issuer is https://login.example.com")
                    }
                    #expect(server.bodies("/token").isEmpty)
                }
            }
        }
    }

    @Test func `a resource without metadata is protected by its own origin`() async throws {
        let server = try await ProtectedServer.start()
        server.rules.withLock { ($0.issuer, $0.isDescribed) = ("", false) }
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let user = User()
            try await logIn(proxy, user)
            #expect(try await proxy.exchange(Raw.get("/tools")).body == "tools")
            #expect(user.pages.allSatisfy { $0["resource"] == nil })
            #expect(server.bodies("/token").allSatisfy { !$0.contains("resource=") })
        }
    }

    @Test func `the server is named before a client is registered with it`() async throws {
        let server = try await ProtectedServer.start()
        server.rules.withLock { $0.metadata = #","scopes_supported":["read"]"# }
        try await DaemonHarness.run(channels: server.channel()) { proxy in
            let before = Mutex<[Int]>([])
            var session = try await SignIn(
                "tools",
                of: try proxy.configuration(),
                environment: [:],
                say: { _ in before.withLock { $0.append(server.bodies("/register").count) } }
            )
            defer { session.close() }
            try await session.discover()
            // First its name and the registration endpoint, then the client.
            #expect(before.withLock { $0.prefix(3) } == [0, 0, 1])
        }
    }

    @Test func `scopes are separated by blanks, and an invalid scope is an error`() throws {
        #expect(try SignIn.scopes(in: " a  b\tc") == ["a", "b", "c"])
        for text in ["", " ", "a \"b", "sch\u{f6}n", "a\\b"] {
            #expect(throws: SignIn.Failure.self) { try SignIn.scopes(in: text) }
        }
    }
}
