import NetproxyHTTP2
import NetproxyHTTPMessage
import Synchronization
import TestSupport
import Testing

/// gRPC calls, which are HTTP/2 exchanges with a status of their own.
@Suite struct CallStory {
    private static let call: HTTPHeaders = ["Content-Type": "application/grpc", "TE": "trailers"]

    private func call(
        _ proxy: DaemonHarness,
        _ target: String = "/greeter.Greeter/SayHello",
        host: String = "greeter.localhost"
    ) async throws -> HTTP2Peer.Message {
        let app = HTTP2Peer(try await proxy.connect(), as: .client)
        try await app.flush()
        let stream = try await app.request(
            .post,
            target,
            host: host,
            CallStory.call,
            content: "\0\0\0\0\u{1}x"
        )
        return try await app.message(on: stream)
    }

    @Test func `the gRPC status is in the record, in why and in the metrics`() async throws {
        let origin = try await OriginServer.startHTTP2 { peer, message in
            try await peer.respond(
                to: message.stream,
                200,
                ["Content-Type": "application/grpc"],
                "\0\0\0\0\0",
                trailers: ["grpc-status": "5", "grpc-message": "no such thing"]
            )
        }
        try await DaemonHarness.run(
            channels: "greeter: { upstream: http://127.0.0.1:\(origin.port), http: http2 }",
            root: "admin: 127.0.0.1:0"
        ) { proxy in
            let answer = try await call(proxy)
            #expect(answer.status == 200)
            #expect(answer.trailers?["grpc-status"] == "5")
            #expect(await proxy.hasLoggedExchange("greeter"))
            let metrics = try await proxy.ask(Raw.get("/metrics")).body
            #expect(
                metrics.contains(
                    #"netproxy_grpc_calls_total{channel="greeter",grpc_status="NOT_FOUND"} 1"#
                )
            )
            let line = try await proxy.onlyLine("greeter")
            #expect(line.text.contains(#""grpc_status":5"#))
            #expect(line.facts.level == "warning")
        }
    }

    @Test(arguments: [
        ("refusing", "14", "connection_refused"), ("none", "12", "no_channel"),
    ])
    func `netproxy's errors are mapped to gRPC statuses`(
        name: String,
        code: String,
        word: String
    ) async throws {
        try await DaemonHarness.run(
            channels: """
                refusing:
                  upstream: http://127.0.0.1:\(RefusingPort.any())
                  http: http2
                  retry: { attempts: 0 }
                """
        ) { proxy in
            let host = name == "none" ? "localhost" : "\(name).localhost"
            let answer = try await call(proxy, host: host)
            #expect(answer.status == 200)
            #expect(answer["content-type"] == "application/grpc")
            #expect(answer["grpc-status"] == code)
            #expect(answer["proxy-status"] == "netproxy; error=\(word)")
            #expect(answer["grpc-message"]?.isEmpty == false)
        }
    }

    /// Returns a channel whose calls contain a token from a server.
    private func greeter(_ origin: OriginServer, _ server: OriginServer) -> String {
        """
        greeter:
          upstream: http://127.0.0.1:\(origin.port)
          http: http2
          auth:
            oauth:
              grant: client_credentials
              token_url: http://127.0.0.1:\(server.port)/token
              client_id: x
              client_secret: literal:y
        """
    }

    @Test func `an unauthenticated call renews the token once and is repeated`()
        async throws
    {
        let origin = try await OriginServer.startHTTP2 { peer, message in
            let isFresh = message["authorization"] == "Bearer token-2"
            try await peer.respond(
                to: message.stream,
                200,
                [
                    "Content-Type": "application/grpc",
                    "grpc-status": isFresh ? "0" : "16",
                ]
            )
        }
        let tokens = Mutex(0)
        let server = try await OriginServer.start { request in
            let number = tokens.withLock { count in
                count += 1
                return count
            }
            return Raw.response(
                "200 OK",
                fields: ["Content-Type: application/json"],
                body:
                    #"{"access_token":"token-\#(number)","token_type":"Bearer","expires_in":3600}"#
            )
        }
        try await DaemonHarness.run(
            channels: greeter(origin, server)
        ) { proxy in
            #expect(try await call(proxy)["grpc-status"] == "0")
            #expect(tokens.withLock { $0 } == 2)
            let line = try await proxy.onlyLine("greeter")
            #expect(line.facts.attempts == 2)
            #expect(line.facts.retries == ["unauthorized"])
            #expect(line.text.contains(#""grpc_status":0"#))
        }
    }

    /// Returns the number of tokens requested by five calls whose tokens are all refused in the given way.
    private func tokens(
        refusedBy refusal: @escaping @Sendable (HTTP2Peer, Int32) async throws -> Void
    ) async throws -> Int {
        let origin = try await OriginServer.startHTTP2 { try await refusal($0, $1.stream) }
        let tokens = Mutex(0)
        let server = try await OriginServer.start { _ in
            let number = tokens.withLock { count in
                count += 1
                return count
            }
            return Raw.response(
                "200 OK",
                fields: ["Content-Type: application/json"],
                body: #"{"access_token":"token-\#(number)","expires_in":3600}"#
            )
        }
        try await DaemonHarness.run(
            channels: greeter(origin, server)
        ) { proxy in
            for _ in 0..<5 { _ = try await call(proxy) }
        }
        return tokens.withLock { $0 }
    }

    @Test func `refusals by gRPC status cause as many token requests as 401s`()
        async throws
    {
        let by401 = try await tokens { try await $0.respond(to: $1, 401) }
        let byStatus = try await tokens { peer, stream in
            let fields: HTTPHeaders = ["Content-Type": "application/grpc", "grpc-status": "16"]
            try await peer.respond(to: stream, 200, fields)
        }
        #expect(byStatus == by401)
    }
}
