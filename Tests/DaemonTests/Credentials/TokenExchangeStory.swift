import TestSupport
import Testing

/// Channels that exchange a token of another party for their own.
@Suite struct TokenExchangeStory {
    private func channel(_ origin: OriginServer, _ tokens: OriginServer, _ exchange: String)
        -> String
    {
        """
        orders:
          upstream: http://127.0.0.1:\(origin.port)
          auth:
            oauth:
              grant: token_exchange
              token_url: http://127.0.0.1:\(tokens.port)/token
              client_id: orders
              client_auth: none
              exchange: { \(exchange) }
        """
    }

    @Test(arguments: [
        ("subject_token: 'literal:alice'", "subject_token: 'literal:bob'"),
        ("subject_token: 'exec:/bin/echo alice'", "subject_token: 'exec:/bin/echo bob'"),
        (
            "subject_token: 'literal:alice', actor_token: 'literal:a'",
            "subject_token: 'literal:alice', actor_token: 'literal:b'"
        ),
        (
            "subject_token: 'literal:alice'",
            "subject_token: 'literal:alice', requested_token_type: 'urn:b'"
        ),
    ])
    func `a new subject token takes effect with a reload`(
        before: String,
        after: String
    ) async throws {
        let counter = Counter()
        let tokens = try await OriginServer.start { _ in
            Raw.ok(
                #"{"access_token":"t\#(counter.next())","token_type":"Bearer","expires_in":3600}"#,
                "Content-Type: application/json"
            )
        }
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(channels: channel(origin, tokens, before)) { proxy in
            for exchange in [before, before, after] {
                await proxy.reload(channels: channel(origin, tokens, exchange))
                let answer = try await proxy.exchange(Raw.get("/orders/1"))
                #expect(answer.status == 200)
            }
            let sent = origin.requests.map { $0["Authorization"] }
            #expect(sent == ["Bearer t1", "Bearer t1", "Bearer t2"])
        }
    }
}
