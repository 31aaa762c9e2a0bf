import Foundation
import NetworkCore
import TestSupport
import Testing

@testable import OAuth

/// Token endpoints that differ from RFC 6749: in the URL for renewals, the format of requests, and the places
/// of the members of responses.
@Suite struct TokenFormatTests {
    private let server = ScriptedServer()
    private let clock = ManualClock()

    private func tokens(
        _ grant: TokenGrant = .refreshToken(Secret("refresh-0")),
        configure: (inout OAuthConfiguration) -> Void
    ) async throws(TokenFailure) -> TokenResponse {
        var configuration = OAuthHarness.configuration(.clientCredentials)
        configure(&configuration)
        return try await TokenEndpointClient(transport: server, clock: clock).tokens(
            for: grant,
            configuration: configuration,
            deadline: clock.now + .seconds(10)
        )
    }

    @Test func `only refresh tokens go to the refresh endpoint`() async throws {
        server.script("/token", .json(200, ScriptedServer.good))
        server.script("/refresh", .json(400, #"{"error":"invalid_scope"}"#))
        let endpoint: ServerEndpoint = "https://other.example.com/refresh"
        _ = try await tokens(.clientCredentials(scopes: [])) { $0.refreshEndpoint = endpoint }
        await #expect {
            try await tokens { $0.refreshEndpoint = endpoint }
        } throws: { "\(($0 as? TokenFailure)?.detail ?? "")".contains("other.example.com") }
        #expect(
            server.seen.map(\.url) == [
                "https://login.example.com/token", "https://other.example.com/refresh",
            ]
        )
    }

    @Test func `a request in JSON has texts, and lists for repeated parameters`() async throws {
        server.script("/token", .json(200, ScriptedServer.good))
        _ = try await tokens {
            $0.requestFormat = .json
            $0.clientAuthentication = .post
            $0.resources = ["urn:a", "urn:b"]
        }
        let seen = try #require(server.seen.first)
        #expect(seen.headers[.contentType] == "application/json")
        let json = try JSONSerialization.jsonObject(with: Data(seen.body.utf8)) as? [String: Any]
        let object = try #require(json)
        #expect(object["grant_type"] as? String == "refresh_token")
        #expect(object["refresh_token"] as? String == "refresh-0")
        #expect(object["client_secret"] as? String == "s3cret-canary")
        #expect(object["resource"] as? [String] == ["urn:a", "urn:b"])
    }

    @Test func `a member is read where its pointer leads, and nowhere else`() async throws {
        server.script(
            "/token",
            .json(
                200,
                #"{"a/b":[{"t":"inner"}],"access_token":"outer","refresh_token":"r","ttl":"60"}"#
            )
        )
        let found = try await tokens {
            $0.responsePointers = [
                .accessToken: "/a~1b/0/t", .expiresIn: "/ttl", .refreshToken: "/none",
            ]
        }
        #expect(found.accessToken == Secret("inner"))
        #expect(found.lifetime == .seconds(60))
        #expect(found.refreshToken == nil)
    }

    @Test func `an error is read where its pointer leads`() async {
        server.script(
            "/token",
            .json(200, #"{"fault":{"code":"invalid_grant","text":"it was revoked"}}"#)
        )
        await #expect {
            try await tokens {
                $0.responsePointers = [.error: "/fault/code", .errorDescription: "/fault/text"]
            }
        } throws: { error in
            let failure = error as? TokenFailure
            return failure?.kind == .invalidGrant && failure?.serverDescription == "it was revoked"
        }
    }

    @Test(arguments: [
        #"{"token":"t","expires_in":60}"#, #"{"accessToken":"t","expiresIn":60}"#,
        #"{"tokenData":{"access_token":"t","expires_in":60}}"#,
        #"{"result":{"accessToken":"t","expiresIn":"60"}}"#,
    ])
    func `other usual names of the members are known`(body: String) async throws {
        server.script("/token", .json(200, body))
        let found = try await tokens { _ in }
        #expect(found.accessToken == Secret("t"))
        #expect(found.lifetime == .seconds(60))
    }
}
