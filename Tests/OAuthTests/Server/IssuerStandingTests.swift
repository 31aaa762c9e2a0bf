import NetworkCore
import TestSupport
import Testing

@testable import OAuth

/// The limits on the metadata of a server that a resource has named.
@Suite struct IssuerStandingTests {
    private let server = ScriptedServer()

    private func metadata(
        _ standing: IssuerStanding,
        of issuer: String = "https://a.example.com",
        naming named: String? = nil,
        _ endpoint: String = "",
        _ url: String = "https://a.example.com/x"
    ) async throws -> ServerMetadata {
        let more = endpoint.isEmpty ? "" : #","\#(endpoint)":"\#(url)""#
        let token = "\(issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer)/token"
        server.script(
            "/.well-known/oauth-authorization-server",
            .json(200, #"{"issuer":"\#(named ?? issuer)","token_endpoint":"\#(token)"\#(more)}"#)
        )
        return try await MetadataDirectory(
            standing,
            issuer: issuer,
            transport: server,
            clock: ManualClock(),
            plainHTTP: .accepted
        ).metadata()
    }

    @Test(arguments: [
        "registration_endpoint", "authorization_endpoint", "device_authorization_endpoint",
        "revocation_endpoint", "pushed_authorization_request_endpoint",
    ])
    func `no endpoint is on this machine where the issuer is not`(_ endpoint: String) async throws {
        let local = "http://127.0.0.1:8080/orders/1"
        for standing in [IssuerStanding.named, .pinned] {
            let error = await #expect(throws: MetadataError.self) {
                try await metadata(standing, naming: nil, endpoint, local)
            }
            let words = try #require(error?.description)
            #expect(words.contains("the \(endpoint) in the metadata for https://a.example.com"))
            #expect(words.contains("\(local), is on this machine or its networks"))
        }
        // The configuration vouches for its issuer.
        _ = try await metadata(.configured, naming: nil, endpoint, local)
        // A server on this machine has no secrets to find there.
        _ = try await metadata(.named, of: "http://localhost:9000", endpoint, local)
    }

    @Test(arguments: [
        "https://127.0.0.1/", "https://127.8.9.1/", "https://localhost/", "https://LOCALHOST./",
        "https://a.localhost/", "https://0.0.0.0/", "https://10.0.0.1/", "https://172.31.0.1/",
        "https://192.168.1.1/", "https://100.100.100.200/", "https://169.254.169.254/",
        "https://168.63.129.16/", "https://[::1]/", "https://[::]/", "https://[fe80::1]/",
        "https://[fd00:ec2::254]/", "https://[::ffff:127.0.0.1]/", "https://[64:ff9b::7f00:1]/",
        "https://[2002:7f00:1::]/", "http://other.example.com/",
    ])
    func `addresses of all kinds are recognized, and http is refused`(_ url: String) async {
        await #expect(throws: MetadataError.self) {
            try await metadata(.named, naming: nil, "registration_endpoint", url)
        }
    }

    @Test(arguments: [
        "https://other.example.com/", "https://8.8.8.8/", "https://172.32.0.1/",
        "https://[2606:4700::1111]/", "https://localhost.example.com/",
    ])
    func `a host elsewhere may be named`(_ url: String) async throws {
        let found = try await metadata(.named, naming: nil, "registration_endpoint", url)
        #expect(found.registrationEndpoint?.description == url)
    }

    @Test func `http is allowed only on the issuer's own origin, if it is allowed for the issuer`()
        async throws
    {
        let issuer = "http://plain.example.com"
        let own = "\(issuer)/register"
        let found = try await metadata(.named, of: issuer, "registration_endpoint", own)
        #expect(found.registrationEndpoint?.description == own)
        await #expect(throws: MetadataError.self) {
            try await metadata(.named, of: issuer, "registration_endpoint", "\(issuer):81/register")
        }
    }

    @Test func `the slash of a root issuer is as its metadata has it`() async throws {
        let (plain, slash) = ("https://a.example.com", "https://a.example.com/")
        #expect(try await metadata(.named, of: slash, naming: plain).issuer == plain)
        #expect(try await metadata(.named, of: plain, naming: slash).issuer == slash)
        for standing in [IssuerStanding.configured, .pinned] {
            await #expect(throws: MetadataError.self) {
                try await metadata(standing, of: slash, naming: plain)
            }
        }
        await #expect(throws: MetadataError.self) {
            try await metadata(.named, of: plain, naming: "https://a.example.com/x")
        }
    }
}
