import NetworkCore
import TestSupport
import Testing

@testable import OAuth

/// The parameters that are added to the query of an endpoint.
@Suite struct ServerEndpointTests {
    private let parameters = [
        FormParameter("prompt", "consent"), FormParameter("scope", ""),
        FormParameter("resource", "a"), FormParameter("resource", "b"),
    ]

    @Test(arguments: [
        ("", "?"), ("?", "?"), ("?tenant=acme", "?tenant=acme&"), ("?prompt=login", "?"),
        ("?prompt=login&tenant=acme&prompt=none", "?tenant=acme&"), ("?pro%6Dpt=login", "?"),
        ("?prompt", "?"), ("?scope=openid", "?scope=openid&"), ("?resource=x&a=%zz", "?a=%zz&"),
        ("?a=1&&b=2", "?a=1&&b=2&"),
    ])
    func `an added parameter replaces those of the same name`(query: String, kept: String) throws {
        let endpoint = try #require(ServerEndpoint("https://login.example.com/authorize\(query)"))
        #expect(
            endpoint.url(adding: parameters) == "https://login.example.com/authorize\(kept)"
                + "prompt=consent&resource=a&resource=b"
        )
    }

    @Test func `a parameter of a posted form is removed from the endpoint's query`() async throws {
        let server = ScriptedServer()
        server.script("/token?tenant=acme", .json(200, ScriptedServer.good))
        var configuration = OAuthHarness.configuration(.clientCredentials)
        configuration.tokenEndpoint =
            "https://login.example.com/token?tenant=acme&grant_type=password&client_id=x"
        configuration.clientAuthentication = .post
        let clock = ManualClock()
        _ = try await TokenEndpointClient(transport: server, clock: clock).tokens(
            for: .clientCredentials(scopes: []),
            configuration: configuration,
            deadline: clock.now + .seconds(10)
        )
        #expect(server.seen[0].url == "https://login.example.com/token?tenant=acme")
        #expect(server.seen[0].form["grant_type"] == "client_credentials")
    }
}
