import NetproxyCommands
import NetproxyConfig
import NetproxyService
import TestSupport
import Testing

/// The parsing of the daemon's responses by the commands.
@Suite struct AdminClientTests {
    private func client(_ daemon: OriginServer) -> AdminClient {
        AdminClient([.tcp(HostPort(host: "127.0.0.1", port: daemon.port))])
    }

    @Test(arguments: [
        "Content-Length: 7\r\n\r\n|one\n|two",
        "Content-Length: 7\r\n\r\none\nt|wo",
        "|Connection: close\r\n|\r\none\n|two",
    ])
    func `a response with a length or chunks is read completely`(pieces: String) async throws {
        let daemon = try await OriginServer.start { wire in
            _ = try await wire.message()
            for piece in "HTTP/1.1 409 Conflict\r\n\(pieces)".split(separator: "|") {
                try await wire.send(String(piece))
            }
        }
        let answer = try await client(daemon).send(
            .reload,
            AdminQuery([(name: "plan", value: "")])
        )
        #expect((answer.status, answer.text) == (409, "one\ntwo"))
        let request = try #require(daemon.requests.first)
        #expect(request.startLine == "POST /reload?plan HTTP/1.1")
        #expect(request["Netproxy-Admin"] == "1")
    }

    @Test func `an incomplete response is an error`() async throws {
        let daemon = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\none")
        }
        await #expect(throws: (any Error).self) { try await client(daemon).send(.status) }
    }

    @Test func `a response without an end yields its first line and stays open until it is closed`()
        async throws
    {
        let daemon = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n"
            )
            try await wire.send("4\r\ntwo\n\r\n")
            try await wire.rest()
        }
        let held = try await client(daemon).hold(.keys)
        #expect((held.answer.status, held.answer.text) == (200, "onetwo\n"))
        held.close()
        try await daemon.connections[0].closed.wait()
    }

    @Test func `the admin address can be localhost`() async throws {
        let daemon = try await OriginServer.start { _ in Raw.ok("here") }
        let client = AdminClient([.tcp(HostPort(host: "localhost", port: daemon.port))])
        #expect(try await client.send(.status).text == "here")
    }

    @Test func `the error for a missing daemon contains the address`() async throws {
        let nobody = HostPort(host: "127.0.0.1", port: RefusingPort.any())
        let refused = await #expect(throws: AdminClient.Unreachable.self) {
            try await AdminClient([.tcp(nobody)]).send(.status)
        }
        #expect(
            refused?.description
                == "no daemon answers at 127.0.0.1:\(nobody.port): connection refused; "
                + "is it running (netproxy run), with this configuration?"
        )
        await #expect(throws: AdminClient.Unreachable.self) {
            try await AdminClient([]).send(.status)
        }
        let mute = try await OriginServer.start { _ = try await $0.message() }
        await #expect(throws: AdminClient.Unreachable.self) {
            try await client(mute).send(.status)
        }
    }
}
