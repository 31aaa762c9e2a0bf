import NetproxyHTTP2
import NetproxyHTTPMessage
import TestSupport
import Testing

/// Streams that an origin refuses over HTTP/2: each is an attempt.
@Suite(.timeLimit(.minutes(1))) struct RefusedStreamStory {
    /// The signals by which an origin says that it has not processed a request.
    enum Refusal: CaseIterable { case reset, goAway }

    /// An origin that refuses a number of requests and serves the others.
    private func origin(
        refusing count: Int,
        by refusal: Refusal,
        _ arrived: Counter
    ) async throws -> OriginServer {
        try await OriginServer.start { wire in
            let peer = HTTP2Peer(wire, as: .server)
            try await peer.flush()
            while let message = try await peer.next() {
                guard arrived.next() > count else {
                    switch refusal {
                    case .reset: try await peer.reset(message.stream, .refusedStream)
                    // GOAWAY with 0 as the last stream.
                    case .goAway:
                        try await peer.raw([0, 0, 8, 7] + [UInt8](repeating: 0, count: 13))
                    }
                    continue
                }
                try await peer.respond(to: message.stream, 200, [:], message.body)
            }
        }
    }

    private func run(
        _ origin: OriginServer,
        retry: String = "{}",
        _ story: (DaemonHarness) async throws -> Void
    ) async throws {
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  http: http2
                  retry: \(retry)
                """,
            story
        )
    }

    @Test(arguments: Refusal.allCases, [HTTPMethod.get, .post])
    func `a refused request is repeated with its reason in the log`(
        refusal: Refusal,
        method: HTTPMethod
    ) async throws {
        let arrived = Counter()
        let origin = try await origin(refusing: 1, by: refusal, arrived)
        try await run(origin) { proxy in
            let body = method == .post ? "once" : ""
            let answer = try await proxy.exchange(
                method == .post ? Raw.post("/orders/1", body: body) : Raw.get("/orders/1")
            )
            #expect(answer.status == 200 && answer.body == body)
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.attempts == 2 && facts.retries == ["connection_terminated"])
        }
    }

    @Test(arguments: Refusal.allCases)
    func `refused requests are sent no more often than retry-attempts permits`(
        refusal: Refusal
    ) async throws {
        for attempts in 0...2 {
            let arrived = Counter()
            let origin = try await origin(refusing: .max, by: refusal, arrived)
            try await run(origin, retry: "{ attempts: \(attempts) }") { proxy in
                let answer = try await proxy.exchange(Raw.post("/orders/1", body: "x"))
                #expect(answer.status == 502)
                let facts = try await proxy.onlyLine("orders").facts
                #expect(facts.attempts == attempts + 1)
                #expect((facts.retries ?? []).count == attempts)
            }
            #expect(arrived.current == attempts + 1)
        }
    }

    @Test func `refused requests count against retry-budget`() async throws {
        let arrived = Counter()
        let origin = try await origin(refusing: .max, by: .reset, arrived)
        try await run(
            origin,
            retry: "{ attempts: 2, budget: 0%, backoff: { base: 1ms, max: 1ms } }"
        ) { proxy in
            let app = try await proxy.connect()
            for number in 0..<60 {
                try await app.send(Raw.get("/orders/\(number)"))
                #expect(try await app.message().status == 502)
            }
        }
        // 10 retries a second are always permitted.
        #expect(arrived.current < 180)
    }

    @Test func `many refusals are not a violation of the protocol`() async throws {
        let arrived = Counter()
        let origin = try await origin(refusing: 1500, by: .reset, arrived)
        try await run(origin, retry: "{ attempts: 0 }") { proxy in
            let app = try await proxy.connect()
            for number in 0..<1500 {
                try await app.send(Raw.get("/orders/\(number)"))
                #expect(try await app.message().status == 502)
            }
            try await app.send(Raw.get("/orders/last"))
            #expect(try await app.message().status == 200)
            #expect(origin.connections.count == 1)
        }
    }
}
