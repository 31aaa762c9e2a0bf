import NetworkCore
import OAuth
import TestSupport
import Testing

/// Tokens of a GitHub App's installation.
@Suite struct InstallationGrantTests {
    private let server = ScriptedServer()
    private let clock = ManualClock()
    private static let target = "/app/installations/7/access_tokens"

    private func manager(
        _ limits: InstallationGrant.Limits = .init()
    ) throws -> OAuthManager {
        var configuration = OAuthConfiguration(
            tokenEndpoint: ServerEndpoint(
                origin: Origin(scheme: .https, host: "api.github.example"),
                target: Self.target
            ),
            clientID: "Iv1.app",
            clientAuthentication: .privateKeyJWT,
            grant: .provided(InstallationGrant(limits))
        )
        configuration.clientKey = try SigningKey(pem: SampleKeys.rsa)
        configuration.failurePatience = .zero
        return OAuthManager(
            service: TokenEndpointClient(transport: server, clock: clock),
            tokenStore: MemoryTokenStore(),
            configuration: configuration,
            clock: clock
        )
    }

    private func failure(_ answer: ScriptedServer.Answer) async throws -> OAuthFailure? {
        server.script(Self.target, answer)
        let manager = try manager()
        _ = try? await manager.credential(until: nil)
        return await manager.status().lastFailure
    }

    @Test func `the app signs its own token, and requests the installation's token with it`()
        async throws
    {
        // The time is 2027-01-15T08:00:00Z.
        server.script(
            Self.target,
            .json(201, #"{"token":"ghs_x","expires_at":"2027-01-15T09:00:00Z","permissions":{}}"#)
        )
        let manager = try manager(
            .init(repositories: ["site"], permissions: ["contents": "read", "issues": "write"])
        )
        let credential = try await manager.credential(until: nil)
        #expect(credential.value.reveal() == "Bearer ghs_x")
        #expect(await manager.status().expiresIn == .seconds(3600))
        let request = try #require(server.seen.first)
        #expect(
            request.body
                == #"{"permissions":{"contents":"read","issues":"write"},"repositories":["site"]}"#
        )
        #expect(request.headers[.contentType] == "application/json")
        let value = try #require(request.headers[.authorization])
        let token = try SignedToken(Secret(String(value.dropFirst("Bearer ".count))))
        #expect(token.isSigned(by: try SigningKey(pem: SampleKeys.rsa)))
        #expect(token.header == ["alg": "RS256", "typ": "JWT"])
        #expect(token.claims["iss"] as? String == "Iv1.app")
        #expect(token.claims["iat"] as? Int == 1_799_999_940)
        #expect(token.claims["exp"] as? Int == 1_800_000_540)
    }

    @Test func `limits are sent only if they are set, and other limits mean another token`()
        async throws
    {
        server.script(Self.target, .json(201, #"{"token":"ghs_x"}"#))
        _ = try await manager().credential(until: nil)
        #expect(server.seen.first?.body == "{}")
        let identities = [
            InstallationGrant(.init()), InstallationGrant(.init(repositories: ["a"])),
            InstallationGrant(.init(permissions: ["a": "read"])),
        ].map(\.identity)
        #expect(Set(identities).count == 3)
    }

    @Test(arguments: [
        (
            404, "Not Found",
            "knows no such installation of the app: check installation, or install it again (Not Found)"
        ),
        (
            422, "The permissions requested are not granted to this installation.",
            "refused the request with 422 (The permissions requested are not "
                + "granted to this installation.)"
        ),
        (
            403, "This installation has been suspended",
            "refused the request with 403 (This installation has been suspended)"
        ),
        (
            401, "A JSON web token could not be decoded",
            "does not accept the app's key: check client_id and client_key (A JSON web token could "
                + "not be decoded)"
        ),
    ])
    func `GitHub's message about a refusal is shown`(
        status: Int,
        message: String,
        detail: String
    ) async throws {
        let code = try #require(HTTPStatus(rawValue: status))
        let body =
            #"{"message":"\#(message)","documentation_url":"https://d","status":"\#(status)"}"#
        let failure = try #require(try await failure(.json(code, body)))
        #expect(failure.kind == "configuration")
        #expect(failure.detail == "the token endpoint https://api.github.example \(detail)")
    }

    @Test func `a limit on requests passes`() async throws {
        let body = #"{"message":"You have exceeded a secondary rate limit."}"#
        let failure = try await failure(.busy(403, body, retryAfter: "60"))
        #expect(failure?.kind == "transient")
        let unusable = try await self.failure(.json(201, "{}"))
        #expect(unusable?.detail.contains("without a token") == true)
    }
}
