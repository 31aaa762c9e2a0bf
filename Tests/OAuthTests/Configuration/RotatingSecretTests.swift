import FoundationEssentials
import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

/// A client's secret replaced while the program runs.
@Suite struct RotatingSecretTests {
    private let server = ScriptedServer()
    private let place = Place()

    /// The place of the secret.
    private final class Place: Sendable {
        private let text = Mutex("old")

        var secret: String {
            get { text.withLock { $0 } }
            set { text.withLock { $0 = newValue } }
        }
    }

    private func configuration() -> OAuthConfiguration {
        var configuration = OAuthHarness.configuration(.refreshToken(initial: nil))
        configuration.clientAuthentication = .post
        configuration.rotatingSecret = RotatingSecret(Secret("old")) { [place] in
            Secret(place.secret)
        }
        return configuration
    }

    private func tokens(_ configuration: OAuthConfiguration) async throws(TokenFailure)
        -> TokenResponse
    {
        try await TokenEndpointClient(transport: server, clock: ManualClock()).tokens(
            for: .refreshToken(Secret("r")),
            configuration: configuration,
            deadline: .now + .seconds(10)
        )
    }

    @Test func `the secret is read again once the server refuses it`() async throws {
        let configuration = configuration()
        server.script(
            "/token",
            .json(401, #"{"error":"invalid_client"}"#),
            .json(200, ScriptedServer.good)
        )
        place.secret = "new"
        _ = try await tokens(configuration)
        #expect(server.seen.map { $0.form["client_secret"] } == ["old", "new"])
        _ = try await tokens(configuration)
        #expect(server.seen.last?.form["client_secret"] == "new")
    }

    @Test func `a key to sign with is read again, too`() async throws {
        var configuration = configuration()
        configuration.clientAuthentication = .privateKeyJWT
        configuration.clientKey = try SigningKey(pem: SampleKeys.p256, id: "k1")
        configuration.rotatingSecret = RotatingSecret(SampleKeys.p256) { SampleKeys.ed25519 }
        server.script(
            "/token",
            .json(401, #"{"error":"invalid_client"}"#),
            .json(200, ScriptedServer.good)
        )
        for _ in 1...2 { _ = try await tokens(configuration) }
        let heads = try server.seen.map { seen in
            let head = try #require(seen.form["client_assertion"]?.split(separator: ".").first)
            let padding = String(repeating: "=", count: (4 - head.count % 4) % 4)
            let data = try #require(Data(base64Encoded: head + padding))
            return String(decoding: data, as: UTF8.self)
        }
        #expect(heads.map { $0.contains("EdDSA") } == [false, true, true])
        #expect(heads.allSatisfy { $0.contains("\"k1\"") })
    }

    @Test func `the same secret is not presented again`() async {
        server.script("/token", .json(401, #"{"error":"invalid_client"}"#))
        let failure = await failure(configuration())
        #expect(failure?.serverError == "invalid_client")
        #expect(server.seen.count == 1)
    }

    @Test func `a second refused secret ends the attempts`() async {
        server.script("/token", .json(401, #"{"error":"invalid_client"}"#))
        place.secret = "new"
        #expect(await failure(configuration())?.kind == .configuration)
        #expect(server.seen.count == 2)
    }

    @Test func `another refusal does not have it read`() async {
        server.script("/token", .json(400, #"{"error":"invalid_grant"}"#))
        place.secret = "new"
        #expect(await failure(configuration())?.kind == .invalidGrant)
        #expect(server.seen.count == 1)
    }

    @Test func `a revocation takes the new secret, too`() async {
        server.script("/revoke", .json(401, #"{"error":"invalid_client"}"#), .json(200, ""))
        place.secret = "new"
        var metadata = ServerMetadata()
        metadata.revocationEndpoint = ServerEndpoint("https://login.example.com/revoke")
        let revocation = Revocation(
            transport: server,
            server: metadata,
            configuration: configuration(),
            clock: ManualClock()
        )
        #expect(await revocation.revoke(Secret("t"), .accessToken) == .revoked)
        #expect(server.seen.map { $0.form["client_secret"] } == ["old", "new"])
    }

    @Test func `a revocation with an error inside of a 200 has failed`() async {
        server.script("/revoke", .json(200, #"{"ok":false,"error":"not_authed"}"#))
        var metadata = ServerMetadata()
        metadata.revocationEndpoint = ServerEndpoint("https://login.example.com/revoke")
        let revocation = Revocation(
            transport: server,
            server: metadata,
            configuration: configuration(),
            clock: ManualClock()
        )
        #expect(
            await revocation.revoke(Secret("t"), .accessToken)
                == .failed("https://login.example.com answered 200 (not_authed)")
        )
    }

    private func failure(_ configuration: OAuthConfiguration) async -> TokenFailure? {
        do {
            _ = try await tokens(configuration)
            return nil
        } catch {
            return error
        }
    }
}
