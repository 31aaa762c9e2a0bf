import TestSupport
import Testing

/// Resource indicators (RFC 8707), from the configuration to the token endpoint.
@Suite struct ResourceStory {
    @Test func `channels with different resources have different tokens`() async throws {
        let server = try await OriginServer.start { request in
            request.startLine.contains("/token")
                ? Raw.ok(
                    #"{"access_token":"t","token_type":"Bearer","expires_in":3600}"#,
                    "Content-Type: application/json"
                ) : Raw.ok()
        }
        let url = "http://127.0.0.1:\(server.port)"
        func channels(_ resource: String) -> String {
            """
            orders:
              upstream: \(url)
              auth:
                oauth:
                  { token_url: \(url)/token, client_id: a, client_auth: none, resource: \(resource) }
            """
        }
        try await DaemonHarness.run(channels: channels("urn:one")) { proxy in
            for resource in ["urn:one", "[urn:two, urn:one]", "[urn:one, urn:two]"] {
                await proxy.reload(channels: channels(resource))
                let answer = try await proxy.exchange(Raw.get("/orders/1"))
                #expect(answer.status == 200)
            }
        }
        let forms = server.requests.filter { $0.startLine.contains("/token") }.map(\.body)
        // The order of resources does not matter.
        #expect(
            forms == [
                "grant_type=client_credentials&resource=urn%3Aone&client_id=a",
                "grant_type=client_credentials&resource=urn%3Atwo&resource=urn%3Aone&client_id=a",
            ]
        )
    }
}
