import NetworkClient
import NetworkTesting
import TestSupport
import Testing

/// Tests of calls with the credential in another place than its default field.
@Suite struct CredentialPlaceCallTests {
    private func target(
        of path: String,
        at baseURL: BaseURL,
        _ place: CredentialPlace
    ) async throws -> String {
        let upstream = Upstream { _, _ in Response(status: 200) }
        var channel = NetworkChannel(
            transport: upstream,
            authorizer: try StaticAuthorizer.bearer(Secret("s3cr/et"))
        )
        channel.credentialPlace = place
        let manager = NetworkManager<PathEndpoint>(channel)
        try await manager.send(PathEndpoint(path, of: baseURL))
        let request = try #require(upstream.arrived.first).request
        #expect(!request.headers.contains(HTTPFieldName.authorization))
        return request.target
    }

    @Test func `a credential may be in the query`() async throws {
        let base: BaseURL = "https://maps.example/v1"
        #expect(
            try await target(of: "/tiles", at: base, .query("key")) == "/v1/tiles?key=s3cr%2Fet"
        )
    }

    @Test func `a credential may be in the path of the base URL`() async throws {
        let base: BaseURL = "https://chat.example/bot{credential}/"
        #expect(base.path == "/bot{credential}")
        #expect(try await target(of: "/getMe", at: base, .path()) == "/bots3cr%2Fet/getMe")
        // An endpoint's path is data, not a template.
        let odd = try await target(of: "/{credential}", at: base, .path())
        #expect(odd == "/bots3cr%2Fet/%7Bcredential%7D")
    }

    @Test func `an error contains the template and not the credential`() async throws {
        let upstream = Upstream { _, _ in Response(status: 500) }
        var channel = NetworkChannel(
            transport: upstream,
            authorizer: try StaticAuthorizer.bearer(Secret("s3cr/et"))
        )
        channel.credentialPlace = .path()
        channel.retry = nil
        let manager = NetworkManager<PathEndpoint>(channel)
        let base: BaseURL = "https://chat.example/bot{credential}"
        let error = await #expect(throws: NetworkError.self) {
            try await manager.send(PathEndpoint("/getMe", of: base))
        }
        let text = try #require(error.map { "\($0)" })
        #expect(!text.contains("s3cr"))
        #expect(error?.request?.url == "https://chat.example/bot{credential}/getMe")
    }

    @Test func `a base URL without the template is an error`() async throws {
        await #expect(throws: NetworkError.self) {
            try await target(of: "/getMe", at: "https://chat.example/v1", .path())
        }
    }

    @Test(arguments: ["https://{credential}.example", "https://a.example/{other}"])
    func `braces elsewhere make a base URL invalid`(text: String) {
        #expect(BaseURL(text).origin == nil)
    }
}
