import Foundation
import NetworkCore
import TestSupport
import Testing

@testable import OAuth

/// The server that a user trusted, stored with the tokens.
@Suite struct PinnedServerTests {
    private static let server = PinnedServer(
        issuer: "https://a.example.com/",
        resource: "https://mcp.example.com/mcp",
        client: PinnedServer.Client(
            id: "c1",
            kind: .registered,
            secret: Secret("pinned-s3cret"),
            secretExpiresAt: UnixTime(secondsSinceEpoch: 2_000_000_000),
            authentication: .post,
            redirect: "http://127.0.0.1:4711/callback",
            scopes: ["read", "write", "all"]
        ),
        scopes: ["read", "write"],
        ownPaths: ["/authorize", "/token"]
    )

    private var configuration: OAuthConfiguration {
        var configuration = OAuthConfiguration(
            tokenEndpoint: "https://a.example.com/token",
            clientID: "c1",
            clientSecret: Secret("pinned-s3cret"),
            clientAuthentication: .post,
            grant: .refreshToken(initial: nil)
        )
        configuration.pinned = Self.server
        return configuration
    }

    private let answer = TokenResponse(
        accessToken: Secret("a"),
        lifetime: .seconds(60),
        refreshToken: Secret("r")
    )

    /// What a manager tells that finds a sign-in at this server in the store.
    private func events(
        finding server: PinnedServer?,
        after known: PinnedServer?,
        authority: String? = nil,
        isDiscovered: Bool = true
    ) -> [String] {
        var configuration = configuration
        configuration.pinned = known
        configuration.isDiscovered = isDiscovered
        var engine = TokenEngine(configuration)
        var record = TokenRecord(authority: authority ?? configuration.authority)
        record.refreshToken = Secret("theirs")
        record.pinned = server
        var words: [String] = []
        record.revision += 1
        engine.learn(record)
        words += engine.takeActions().compactMap { action in
            switch action {
            case .report(.signedInElsewhere): "elsewhere"
            case .report: "another event"
            default: nil
            }
        }
        return words
    }

    @Test
    func `a sign-in elsewhere is reported if it is at another server or for another client`() {
        var other = Self.server
        other.issuer = "https://b.example.com"
        #expect(events(finding: other, after: Self.server, authority: "b") == ["elsewhere"])
        #expect(events(finding: Self.server, after: nil, authority: "a") == ["elsewhere"])
        other = Self.server
        other.client.id = "c2"
        #expect(events(finding: other, after: Self.server) == ["elsewhere"])
        other = Self.server
        other.scopes = ["read"]
        #expect(events(finding: other, after: Self.server) == ["elsewhere"])
        other = Self.server
        other.client.kind = .refused
        #expect(events(finding: other, after: Self.server).isEmpty)
        #expect(events(finding: Self.server, after: Self.server).isEmpty)
        #expect(events(finding: nil, after: Self.server).isEmpty)
        // Not a sign-in by URL: reported as the mistake that it is.
        #expect(events(finding: nil, after: nil, authority: "b") == ["another event"])
        let left = events(finding: Self.server, after: nil, authority: "b", isDiscovered: false)
        #expect(left == ["another event"])
    }

    private func resource(_ identifier: String, _ issuer: String) throws -> ProtectedResource {
        try ProtectedResource(
            Array(#"{"resource":"\#(identifier)","authorization_servers":["\#(issuer)"]}"#.utf8),
            of: "https://mcp.example.com/mcp",
            from: "https://mcp.example.com/",
            plainHTTP: .refused
        )
    }

    @Test func `a file keeps it, and another version's client is registered again`() throws {
        var record = TokenRecord(authority: "x")
        record.revision = 1
        record.pinned = Self.server
        let text = String(decoding: try TokenFile.encode(record), as: UTF8.self)
        #expect(TokenFile.decode(Array(text.utf8))?.pinned == Self.server)
        for (word, other) in [("registered", "leased"), ("client_secret_post", "smoke")] {
            let changed = text.replacing(word, with: other)
            #expect(TokenFile.decode(Array(changed.utf8))?.pinned?.client.kind == .refused)
        }
        #expect(!"\(record)".contains("s3cret"))
    }

    @Test func `a time that no one could mean spoils the file`() throws {
        var record = TokenRecord(authority: "x")
        record.revision = 1
        record.pinned = Self.server
        let text = String(decoding: try TokenFile.encode(record), as: UTF8.self)
        #expect(
            TokenFile.decode(Array(text.replacing("2000000000", with: "1e300").utf8)) == nil
        )
    }

    @Test func `a sign-in stores it, a renewal keeps it, a sign-out removes it`() async throws {
        let store = MemoryTokenStore()
        let clock = ManualClock()
        try await store.keepSignIn(
            answer,
            configuration: configuration,
            asked: clock.wallNow,
            clock: clock
        )
        #expect(try await store.load()?.pinned == Self.server)
        let server = ScriptedServer()
        server.script("/token", .json(200, ScriptedServer.good))
        let manager = OAuthManager(
            service: TokenEndpointClient(transport: server, clock: clock),
            tokenStore: store,
            configuration: configuration,
            clock: clock
        )
        try await manager.forceRefresh()
        #expect(server.seen.last?.form["client_secret"] == "pinned-s3cret")
        #expect(try await store.load()?.pinned == Self.server)
        try await manager.forget()
        #expect(try await store.load()?.pinned == nil)
    }

    @Test func `a client that its server has forgotten is dead, and registered again next time`()
        async throws
    {
        let store = MemoryTokenStore()
        let clock = ManualClock()
        try await store.keepSignIn(
            answer,
            configuration: configuration,
            asked: clock.wallNow,
            clock: clock
        )
        let server = ScriptedServer()
        server.script("/token", .json(401, #"{"error":"invalid_client"}"#))
        let manager = OAuthManager(
            service: RegisteredClientService(
                over: TokenEndpointClient(transport: server, clock: clock)
            ),
            tokenStore: store,
            configuration: configuration,
            clock: clock
        )
        await #expect(throws: NetworkError.self) { try await manager.forceRefresh() }
        let status = await manager.status()
        #expect(status.state == .dead || status.lastFailure?.serverError == "invalid_client")
        let kept = try #require(try await store.load())
        #expect(kept.pinned?.client.kind == .refused)
        #expect(kept.pinned?.issuer == Self.server.issuer)
        #expect(kept.pinned?.client.isGood(at: clock.wallNow) == false)
        #expect(kept.quarantine?.reason.contains("invalid_client") == true)
    }

    @Test func `a change of server or resource is reported`() throws {
        let same = try resource("https://mcp.example.com/mcp", "https://a.example.com/")
        #expect(Self.server.change(to: same) == nil)
        let other = try resource("https://mcp.example.com/mcp", "https://evil.example")
        #expect(
            Self.server.change(to: other)
                == "the authorization server was https://a.example.com/ and is now https://evil.example"
        )
        let wider = try resource("https://mcp.example.com", "https://b.example.com")
        let words = try #require(Self.server.change(to: wider))
        #expect(words.contains("and the resource was https://mcp.example.com/mcp"))
    }

    @Test
    func
        `the slash of a root issuer does not count as a change, and it may be named beside others`()
        throws
    {
        let same = try resource("https://mcp.example.com/mcp", "https://a.example.com")
        #expect(Self.server.change(to: same) == nil)
        let list = #"https://b.example.com","https://a.example.com/"#
        let second = try resource("https://mcp.example.com/mcp", list)
        #expect(Self.server.change(to: second) == nil)
        // Behind a path it counts.
        #expect(!"https://a.example.com/x".isSameIssuer("https://a.example.com/x/"))
    }
}
