import FoundationEssentials
import NetproxyConfig
import NetproxyHTTPMessage
import NetworkCore
import OAuth
import OriginTransport
import TestSupport
import Testing

@testable import NetproxyChannels
@testable import NetproxyPath

/// The endpoints of a channel's authorization server.
@Suite struct OAuthClientTests {
    /// A server whose metadata contains every endpoint twice, except omitted ones.
    private struct Published: HTTPTransport {
        var aliases =
            #""token_endpoint":"https://mtls.example/t","#
            + #""device_authorization_endpoint":"https://mtls.example/d","#
            + #""revocation_endpoint":"https://mtls.example/r""#

        func send(_ request: Request, context: inout RequestContext) async throws -> Response {
            let text = """
                {"issuer":"https://l.example","token_endpoint":"https://l.example/t",
                 "device_authorization_endpoint":"https://l.example/d",
                 "revocation_endpoint":"https://l.example/r",
                 "mtls_endpoint_aliases":{\(aliases)}}
                """
            return Response(status: 200, body: .bytes(ByteSlice(text)))
        }
    }

    private func server(
        _ settings: String,
        _ published: Published = Published()
    ) async throws -> ServerMetadata {
        let text = """
            channels:
              orders:
                upstream: https://a.example
                tls: { client_certificate: /cert, client_key: /key }
                auth:
                  oauth: { issuer: 'https://l.example', client_id: a, \(settings) }
            """
        let channel = try ConfigurationLoader.load(
            text: text,
            file: "n.yaml",
            environment: ["HOME": "/home/someone"]
        ).get().channels[0]
        guard let settings = channel.credentials.first?.oauth else {
            throw CancellationError()
        }
        let transport = try PooledTransport(
            options: UpstreamOptions(),
            on: try TestLoop.shared()
        )
        let client = OAuthClient(
            settings: settings,
            configuration: OAuthConfiguration(
                tokenEndpoint: "https://l.example/t",
                clientID: "a"
            ),
            service: TokenEndpointClient(transport: transport),
            transport: OwnRequests(over: transport),
            store: FileTokenStore(directory: "/nowhere", family: "orders"),
            metadata: MetadataDirectory(issuer: "https://l.example", transport: published)
        )
        return try await client.server(needing: \.revocationEndpoint)
    }

    @Test func `a client with a certificate uses the endpoints for certificates`() async throws {
        let server = try await server("grant: device_code, client_auth: tls")
        #expect(server.deviceEndpoint?.description == "https://mtls.example/d")
        #expect(server.revocationEndpoint?.description == "https://mtls.example/r")
    }

    @Test func `a client with a certificate falls back to the general endpoints`() async throws {
        let published = Published(aliases: #""token_endpoint":"https://mtls.example/t""#)
        let server = try await server("grant: device_code, client_auth: tls", published)
        #expect(server.deviceEndpoint?.description == "https://l.example/d")
        #expect(server.revocationEndpoint?.description == "https://l.example/r")
    }

    @Test func `a client without a certificate uses the general endpoints`() async throws {
        let server = try await server("grant: device_code, client_auth: none")
        #expect(server.deviceEndpoint?.description == "https://l.example/d")
        #expect(server.revocationEndpoint?.description == "https://l.example/r")
    }

    @Test func `a configured endpoint takes precedence over the endpoints for certificates`()
        async throws
    {
        let server = try await server(
            "grant: device_code, client_auth: tls, revocation_url: 'https://own.example/r'"
        )
        #expect(server.revocationEndpoint?.description == "https://own.example/r")
    }
}
