import NetworkCore
import OAuth
import TestSupport
import Testing

/// The places of a server's metadata when one of them has none.
@Suite struct WellKnownPlaceTests {
    private let server = ScriptedServer()
    private let issuer = "https://login.example.com"
    private let first = "/.well-known/oauth-authorization-server"
    private let second = "/.well-known/openid-configuration"

    private func document(_ issuer: String, _ more: String = "") -> ScriptedServer.Answer {
        .json(200, #"{"issuer":"\#(issuer)","token_endpoint":"https://l.example/t"\#(more)}"#)
    }

    private func find() async throws(MetadataError) -> ServerMetadata {
        try await MetadataDirectory(issuer: issuer, transport: server, clock: ManualClock())
            .metadata()
    }

    private func failure() async -> MetadataError? {
        do {
            _ = try await find()
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [408, 429, 500, 502, 503] as [HTTPStatus])
    func `an error at one place does not hide the document at another`(status: HTTPStatus)
        async throws
    {
        server.script(first, .json(status, ""))
        server.script(second, document(issuer))
        #expect(try await find().tokenEndpoint?.target == "/t")
    }

    @Test(
        arguments: [(503, 503), (503, 404), (404, 503), (302, 503), (503, 302)]
            as [(HTTPStatus, HTTPStatus)]
    )
    func `a server of which a place is in trouble may have the document later`(
        _ one: HTTPStatus,
        _ other: HTTPStatus
    ) async {
        server.script(first, .json(one, ""))
        server.script(second, .json(other, ""))
        let error = await failure()
        #expect(error?.isTransient == true)
        #expect(error?.description.contains("answered 503") == true)
        #expect(server.seen.count == 2)
    }

    @Test func `another issuer's document at one place does not hide the right one`() async throws {
        server.script(first, document("https://other.example.com"))
        server.script(second, document(issuer))
        #expect(try await find().issuer == issuer)
    }

    @Test func `an error at one place stays transient beside a document of another issuer`()
        async
    {
        server.script(first, document("https://other.example.com"))
        server.script(second, .json(503, ""))
        #expect(await failure()?.isTransient == true)
    }

    @Test func `the endpoints for clients with a certificate are read`() async throws {
        server.script(
            first,
            document(
                issuer,
                #"""
                ,"mtls_endpoint_aliases":{"token_endpoint":"https://mtls.example/t",
                "device_authorization_endpoint":"https://mtls.example/d",
                "revocation_endpoint":"http://login.example.com/r"}
                """#
            )
        )
        let found = try await find()
        #expect(found.certificateTokenEndpoint?.description == "https://mtls.example/t")
        #expect(found.certificateDeviceEndpoint?.description == "https://mtls.example/d")
        // A place without TLS does not count.
        #expect(found.certificateRevocationEndpoint == nil)
        #expect(found.deviceEndpoint == nil)
    }

    @Test func `the server's clock is learned from the metadata response`() async throws {
        let clock = ManualClock()
        let serverClock = ServerClock(clock: clock)
        let text = #"{"issuer":"\#(issuer)","token_endpoint":"https://l.example/t"}"#
        let directory = MetadataDirectory(
            issuer: issuer,
            transport: Upstream { _, _ in
                Response(
                    status: 200,
                    headers: [.date: "Fri, 15 Jan 2027 09:00:00 GMT"],
                    body: .bytes(ByteSlice(text))
                )
            },
            clock: clock,
            serverClock: serverClock
        )
        _ = try await directory.metadata()
        #expect(serverClock.offset == .seconds(3600))
    }
}
