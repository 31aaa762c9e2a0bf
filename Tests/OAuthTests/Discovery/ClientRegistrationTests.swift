import Foundation
import NetworkCore
import TestSupport
import Testing

@testable import OAuth

/// Registering a client with a server that has never heard of it.
@Suite struct ClientRegistrationTests {
    private let server = ScriptedServer()
    private let redirect = "http://127.0.0.1:4711/callback"

    private func metadata(_ methods: [String]? = nil) -> ServerMetadata {
        var metadata = ServerMetadata(issuer: "https://a.example.com")
        metadata.registrationEndpoint = "https://a.example.com/register"
        metadata.clientAuthentications = methods
        return metadata
    }

    private func register(
        _ metadata: ServerMetadata? = nil,
        scopes: [String] = [],
        for purpose: ClientRegistration.Purpose = .browser
    ) async throws -> PinnedServer.Client {
        try await ClientRegistration(
            with: metadata ?? self.metadata(),
            redirect: redirect,
            scopes: scopes,
            for: purpose
        ).register(over: server, clock: ManualClock())
    }

    private func failure(_ metadata: ServerMetadata? = nil) async -> String {
        do {
            _ = try await register(metadata)
            return ""
        } catch {
            return "\(error)"
        }
    }

    private func sent() throws -> [String: Any] {
        let body = try #require(server.seen.last?.body)
        let json = try JSONSerialization.jsonObject(with: Data(body.utf8))
        return try #require(json as? [String: Any])
    }

    @Test func `a native client with refresh tokens and without a secret is registered`()
        async throws
    {
        server.script("/register", .json(201, #"{"client_id":"c1"}"#))
        let client = try await register(
            metadata(["client_secret_post", "none"]),
            scopes: ["a", "b"]
        )
        #expect(client.id == "c1")
        #expect(client.kind == .registered)
        #expect(client.authentication == .none)
        #expect(client.redirect == redirect)
        #expect(client.covers(["b", "a"]) && !client.covers(["a", "c"]))
        let json = try sent()
        #expect(json["client_name"] as? String == "netproxy")
        #expect(json["redirect_uris"] as? [String] == [redirect])
        #expect(json["grant_types"] as? [String] == ["authorization_code", "refresh_token"])
        #expect(json["response_types"] as? [String] == ["code"])
        #expect(json["application_type"] as? String == "native")
        #expect(json["token_endpoint_auth_method"] as? String == "none")
        #expect(json["scope"] as? String == "a b")
        #expect(server.seen.last?.headers[.contentType] == "application/json")
    }

    @Test(arguments: [
        (["client_secret_basic", "client_secret_post"], "client_secret_post"),
        (["private_key_jwt", "client_secret_basic"], "client_secret_basic"),
    ])
    func `the method is one that the server offers`(_ offered: [String], _ method: String)
        async throws
    {
        server.script("/register", .json(201, #"{"client_id":"c","client_secret":"s3cret"}"#))
        let client = try await register(metadata(offered))
        #expect(client.authentication.rawValue == method)
        #expect(client.secret == Secret("s3cret"))
        #expect(client.secretExpiresAt == nil)
        #expect(try sent()["token_endpoint_auth_method"] as? String == method)
    }

    @Test func `a server that wants keys says so before anything is sent`() async {
        #expect(await failure(metadata(["private_key_jwt"])).contains("it offers private_key_jwt"))
        #expect(server.seen.isEmpty)
    }

    @Test func `the registered client counts, not the requested one`() async throws {
        server.script(
            "/register",
            .json(
                200,
                #"""
                {"client_id":"c","client_secret":"s3cret","client_secret_expires_at":2000000000,
                 "token_endpoint_auth_method":"client_secret_post","scope":"x y",
                 "redirect_uris":["\#(redirect)"]}
                """#
            )
        )
        let client = try await register()
        #expect(client.authentication == .post)
        #expect(client.scopes == ["x", "y"])
        #expect(client.secretExpiresAt == UnixTime(secondsSinceEpoch: 2_000_000_000))
        #expect(client.isGood(at: UnixTime(secondsSinceEpoch: 1_999_999_999)))
        #expect(!client.isGood(at: UnixTime(secondsSinceEpoch: 2_000_000_000)))
    }

    @Test func `a secret of a client that needs none is not kept`() async throws {
        server.script(
            "/register",
            .json(
                201,
                #"{"client_id":"c","client_secret":"s3cret","token_endpoint_auth_method":"none"}"#
            )
        )
        #expect(try await register().secret == nil)
    }

    @Test func `a secret that has expired already is refused`() async {
        server.script(
            "/register",
            .json(201, #"{"client_id":"c","client_secret":"s","client_secret_expires_at":1}"#)
        )
        #expect(await failure().contains("whose secret has expired already"))
    }

    @Test func `an end of zero means never`() async throws {
        server.script(
            "/register",
            .json(201, #"{"client_id":"c","client_secret":"s","client_secret_expires_at":0}"#)
        )
        #expect(try await register().secretExpiresAt == nil)
    }

    @Test func `no refresh token is requested from a server without any`() async throws {
        server.script("/register", .json(201, #"{"client_id":"c"}"#))
        var metadata = metadata()
        metadata.grantTypes = ["authorization_code"]
        _ = try await register(metadata)
        #expect(try sent()["grant_types"] as? [String] == ["authorization_code"])
        metadata.grantTypes = nil
        _ = try await register(metadata, for: .device)
        #expect(
            try sent()["grant_types"] as? [String] == [
                "authorization_code", "urn:ietf:params:oauth:grant-type:device_code",
                "refresh_token",
            ]
        )
    }

    @Test(arguments: [
        (HTTPStatus(201), "{}", "without a printable client_id"),
        (201, #"{"client_id":"a\u001bb"}"#, "without a printable client_id"),
        (201, #"{"client_id":7}"#, "without a printable client_id"),
        (201, "<html>", "did not register a client: 201"),
        (302, "", "did not register a client: 302"),
        (403, "no", "did not register a client: 403"),
        (
            400, #"{"error":"invalid_redirect_uri","error_description":"no loopback"}"#,
            "(invalid_redirect_uri: no loopback)"
        ),
        (
            201, #"{"client_id":"c","redirect_uris":["https://evil.example/"]}"#,
            "another redirect URI than http://127.0.0.1:4711/callback"
        ),
        (
            201, #"{"client_id":"c","token_endpoint_auth_method":"private_key_jwt"}"#,
            "authenticate by private_key_jwt"
        ),
    ])
    func `an unusable response is an error`(
        _ status: HTTPStatus,
        _ body: String,
        _ words: String
    ) async {
        server.script("/register", .json(status, body))
        #expect(await failure().contains(words))
    }

    @Test func `a server without registration needs a client from its own pages`() async {
        var metadata = metadata()
        metadata.registrationEndpoint = nil
        #expect(await failure(metadata).contains("set auth.oauth.client_id"))
    }
}
