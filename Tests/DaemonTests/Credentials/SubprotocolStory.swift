import TestSupport
import Testing

/// Credentials among the subprotocols of a WebSocket, where clients put them that cannot set a field.
@Suite struct SubprotocolStory {
    private static let names = "realtime, openai-insecure-api-key.m1ne-own"

    private func sent(_ keys: String, _ fields: String...) async throws -> (Int, RawMessage?) {
        let origin = try await OriginServer.start { _ in
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
        }
        var status = 0
        try await DaemonHarness.run(
            channels: """
                api:
                  upstream: http://127.0.0.1:\(origin.port)
                  \(keys)
                """
        ) { proxy in
            let upgrade = ["Upgrade: websocket", "Connection: Upgrade"]
            let request = Raw.request("GET", "/api/live", fields: upgrade + fields)
            status = try await proxy.exchange(request, .none).status
        }
        return (status, origin.requests.first)
    }

    @Test(arguments: [
        ("realtime, openai-insecure-api-key.sesame-1", "realtime"),
        ("bearer, sesame-1", "bearer"),
    ])
    func `netproxy's key opens a channel there, and only the other names reach the API`(
        names: String,
        rest: String
    ) async throws {
        let (status, request) = try await sent(
            "access: { key: 'literal:sesame-1' }\n  auth: { bearer: 'literal:real' }",
            "Sec-WebSocket-Protocol: \(names)"
        )
        #expect(status == 101)
        #expect(request?["Sec-WebSocket-Protocol"] == rest)
        #expect(request?["Authorization"] == "Bearer real")
    }

    @Test(
        arguments: [
            ("replace", 101, "realtime", "Bearer real"), ("keep", 101, names, nil),
            ("reject", 403, nil, nil),
        ] as [(String, Int, String?, String?)]
    )
    func `the client's own credential there is treated as on_client_credential says`(
        policy: String,
        status: Int,
        names: String?,
        authorization: String?
    ) async throws {
        for auth in ["bearer: 'literal:real'", "header: { name: X-Key, value: 'literal:real' }"] {
            let (found, request) = try await sent(
                "auth: { \(auth), on_client_credential: \(policy) }",
                "Sec-WebSocket-Protocol: \(Self.names)"
            )
            #expect(found == status)
            #expect(request?["Sec-WebSocket-Protocol"] == names)
            let own = request?["Authorization"] ?? request?["X-Key"].map { "Bearer \($0)" }
            #expect(own == authorization)
        }
    }
}
