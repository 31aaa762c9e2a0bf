import Foundation
import NetworkCore
import OAuth
import TestSupport
import Testing

/// The documents that a client requests for its own use: their codings and redirects.
@Suite struct DocumentReaderTests {
    private let server = ScriptedServer()
    private let clock = ManualClock()
    private static let place = "/.well-known/oauth-authorization-server"

    private func answer(to request: Request, upTo limit: Int = 1024) async throws -> String {
        let (_, content) = try await DocumentReader(over: server, clock: clock)
            .document(for: request, upTo: limit, until: clock.now + .seconds(10))
        return String(decoding: content.array, as: UTF8.self)
    }

    private var request: Request {
        Request(origin: Origin(scheme: .https, host: "login.example.com"), target: "/a/b")
    }

    private func token(
        configure: (inout OAuthConfiguration) -> Void = { _ in }
    ) async throws(TokenFailure) -> TokenResponse {
        var configuration = OAuthHarness.configuration(.clientCredentials)
        configure(&configuration)
        return try await TokenEndpointClient(transport: server, clock: clock).tokens(
            for: .refreshToken(Secret("refresh-0")),
            configuration: configuration,
            deadline: clock.now + .seconds(10)
        )
    }

    private func failure() async -> TokenFailure? {
        do {
            _ = try await token()
            return nil
        } catch {
            return error
        }
    }

    // MARK: - Codings

    private static let codings: [(String, [UInt8])] = [
        ("gzip", StoredCoding.gzip("text")), ("X-GZip", StoredCoding.gzip("text")),
        ("deflate", StoredCoding.deflate(Array("text".utf8))),
        ("gzip, identity , gzip", StoredCoding.gzip(StoredCoding.gzip("text"))),
        ("identity", Array("text".utf8)),
    ]

    @Test(arguments: codings) func `content is decoded`(
        coding: String,
        content: [UInt8]
    ) async throws {
        server.script("/a/b", .coded(200, content, coding))
        #expect(try await answer(to: request) == "text")
    }

    @Test(
        arguments: [
            ("br", [1], "the coding br"), ("gzip", [1, 2, 3], "malformed"),
            ("gzip", StoredCoding.gzip("text").dropLast(9), "too early"),
            ("gzip, gzip, gzip, gzip", [1], "4 codings"),
        ] as [(String, [UInt8], String)]
    )
    func `content that cannot be decoded is an error`(
        coding: String,
        content: [UInt8],
        words: String
    ) async {
        server.script("/a/b", .coded(200, content, coding))
        let error = await networkError { try await answer(to: request) }
        #expect(error?.kind == .httpResponseContentCoding)
        #expect(error?.detail.contains(words) == true, "\(error?.detail ?? "")")
    }

    @Test func `the limit counts decoded bytes`() async throws {
        // A MiB of blanks and one more.
        let text =
            "H4sIAAAAAAACA+3BMQEAAADCoCrrn9IQvkAB" + String(repeating: "A", count: 1353)
            + "JwGDPovoQEAEAA="
        let content = try #require(Data(base64Encoded: text)).map { $0 }
        server.script("/a/b", .coded(200, content, "gzip"))
        let error = await networkError { try await answer(to: request, upTo: 1 << 20) }
        #expect(error?.detail.contains("longer than 1048576 bytes") == true)
        #expect(try await answer(to: request, upTo: 1 << 20 + 1).utf8.count == 1 << 20 + 1)
    }

    @Test func `a compressed token response, and a compressed refusal, are read`() async throws {
        server.script("/token", .coded(200, StoredCoding.gzip(ScriptedServer.good), "gzip"))
        #expect(try await token().accessToken == Secret("t"))
        let refusal = StoredCoding.gzip(#"{"error":"invalid_grant"}"#)
        server.script("/token", .coded(400, refusal, "gzip"))
        #expect(await failure()?.kind == .invalidGrant)
        // The server may have spent the refresh token.
        server.script("/token", .coded(200, [1], "br"))
        #expect(await failure()?.kind == .lost)
    }

    @Test func `compressed metadata is read`() async throws {
        let issuer = "https://login.example.com"
        let document = #"{"issuer":"\#(issuer)","token_endpoint":"\#(issuer)/t"}"#
        server.script(Self.place, .coded(200, StoredCoding.gzip(document), "gzip"))
        let directory = MetadataDirectory(issuer: issuer, transport: server, clock: clock)
        #expect(try await directory.metadata().tokenEndpoint?.target == "/t")
    }

    @Test func `a compressed registration, and a compressed refusal, are read`() async throws {
        var metadata = ServerMetadata(issuer: "https://login.example.com")
        metadata.registrationEndpoint = "https://login.example.com/register"
        let registration = ClientRegistration(
            with: metadata,
            redirect: "http://127.0.0.1:1/callback",
            scopes: []
        )
        let client = StoredCoding.gzip(#"{"client_id":"c1"}"#)
        server.script("/register", .coded(201, client, "gzip"))
        #expect(try await registration.register(over: server, clock: clock).id == "c1")
        let refusal = StoredCoding.gzip(#"{"error":"invalid_redirect_uri"}"#)
        server.script("/register", .coded(400, refusal, "gzip"))
        await #expect {
            try await registration.register(over: server, clock: clock)
        } throws: { ($0 as? SignInError)?.serverError == "invalid_redirect_uri" }
    }

    @Test func `a compressed refusal of a revocation is shown`() async {
        var metadata = ServerMetadata(issuer: "https://login.example.com")
        metadata.revocationEndpoint = "https://login.example.com/revoke"
        let refusal = StoredCoding.gzip(#"{"error":"unsupported_token_type"}"#)
        server.script("/revoke", .coded(400, refusal, "gzip"))
        let revocation = Revocation(
            transport: server,
            server: metadata,
            configuration: OAuthHarness.configuration(.clientCredentials),
            clock: clock
        )
        #expect(await revocation.revoke(Secret("t"), .accessToken) == .kindNotOffered)
    }

    // MARK: - Redirects

    @Test(
        arguments: [301, 302, 303, 307, 308] as [HTTPStatus],
        ["/a/b/", "b/", "https://login.example.com/a/b/", "//login.example.com:443/a/x/../b/"]
    )
    func `a redirect of a GET within the origin is followed`(
        status: HTTPStatus,
        location: String
    ) async throws {
        server.script("/a/b", .redirect(status, location))
        server.script("/a/b/", .json(200, "text"))
        #expect(try await answer(to: request) == "text")
        #expect(server.seen.count == 2)
    }

    @Test func `only one redirect is followed`() async throws {
        server.script("/a/b", .redirect(302, "/a/c"))
        server.script("/a/c", .redirect(302, "/a/d"))
        _ = try await answer(to: request)
        #expect(server.seen.map(\.url).last == "https://login.example.com/a/c")
        #expect(server.seen.count == 2)
    }

    @Test(arguments: [
        "https://evil.example/a", "http://login.example.com/a", "https://login.example.com:444/a",
        "https://u@login.example.com/a", "ftp://login.example.com/a",
    ])
    func `a redirect to another origin is shown and not followed`(location: String) async throws {
        server.script("/token", .redirect(307, location))
        #expect(await failure()?.detail.contains("a redirect to '\(location)'") == true)
        server.script(Self.place, .redirect(302, location))
        let directory = MetadataDirectory(
            issuer: "https://login.example.com",
            transport: server,
            clock: clock
        )
        await #expect {
            try await directory.metadata()
        } throws: { "\($0)".contains("a redirect to '\(location)'") }
        #expect(server.seen.allSatisfy { $0.url.hasPrefix("https://login.example.com/") })
    }

    @Test(arguments: [307, 308] as [HTTPStatus])
    func `a redirect that keeps the method is followed within the origin of a token endpoint`(
        status: HTTPStatus
    ) async throws {
        server.script("/token", .redirect(status, "/token/"))
        server.script("/token/", .json(200, ScriptedServer.good))
        #expect(try await token().accessToken == Secret("t"))
        #expect(server.seen.map(\.method) == [.post, .post])
        #expect(server.seen[0].form == server.seen[1].form)
        #expect(server.seen[1].form["refresh_token"] == "refresh-0")
    }

    @Test(arguments: [301, 302, 303] as [HTTPStatus])
    func `a redirect that may change the method is shown for a token endpoint`(
        status: HTTPStatus
    ) async {
        server.script("/token", .redirect(status, "/token/"))
        let failure = await failure()
        #expect(failure?.kind == .configuration)
        #expect(failure?.detail.contains("a redirect to '/token/' that is not followed") == true)
        #expect(server.seen.count == 1)
    }

    @Test func `a redirected request gets a proof for its own URL`() async throws {
        server.script("/token", .redirect(308, "/token/"))
        server.script(
            "/token/",
            .json(200, #"{"access_token":"t","token_type":"DPoP","expires_in":60}"#)
        )
        let key = try SigningKey(pem: SampleKeys.p256)
        _ = try await token { $0.proof = ProofOfPossession(key: key, clock: clock) }
        let proofs = try server.seen.map { seen in
            #expect(seen.headers.values(of: .dpop).count == 1)
            return try Proof(seen.headers[.dpop]).claims
        }
        #expect(
            proofs.map { $0["htu"] as? String } == [
                "https://login.example.com/token", "https://login.example.com/token/",
            ]
        )
    }
}
