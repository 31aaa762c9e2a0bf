import FoundationEssentials
import OAuth
import TestSupport
import Testing

/// Tokens that netproxy signs for a channel.
@Suite struct SignedTokenStory {
    /// Returns the header and the claims of the token in a request.
    private func parts(_ request: RawMessage) throws -> (header: String, claims: [String: Int]) {
        let value = try #require(request["Authorization"])
        let words = value.dropFirst("Bearer ".count).split(separator: ".").map(String.init)
        try #require(words.count == 3)
        let (header, claims) = (
            try #require(Base64URL.decode(words[0])), try #require(Base64URL.decode(words[1]))
        )
        return (
            String(decoding: header, as: UTF8.self),
            try JSONDecoder().decode([String: Int].self, from: Data(claims))
        )
    }

    private static func pem(_ last: Character) -> String {
        """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9\(last)
        -----END PRIVATE KEY-----

        """
    }

    private func channel(_ origin: OriginServer, _ jwt: String) -> String {
        "push: { upstream: 'http://127.0.0.1:\(origin.port)', auth: { jwt: { \(jwt) } } }"
    }

    @Test func `requests share a token, and a 401 causes a new one`() async throws {
        let counter = Counter()
        let origin = try await OriginServer.start { request in
            counter.next() == 2 ? Raw.response("401 Unauthorized") : Raw.ok(request.body)
        }
        let directory = try TokenDirectory()
        try directory.write(Self.pem("g"), to: "key.pem")
        let jwt =
            "key: 'file:\(directory.path)/key.pem', id: K1, lifetime: 50m, claims: { jti: off }"
        try await DaemonHarness.run(channels: channel(origin, jwt)) { proxy in
            #expect(try await proxy.exchange(Raw.get("/push/1")).status == 200)
            try directory.write(Self.pem("k"), to: "key.pem")
            #expect(try await proxy.exchange(Raw.post("/push/2", body: "note")).body == "note")
            #expect(try await proxy.exchange(Raw.get("/push/3")).status == 200)
            let tokens = origin.requests.map { $0["Authorization"] }
            #expect(tokens.count == 4)
            #expect(tokens[0] == tokens[1] && tokens[1] != tokens[2] && tokens[2] == tokens[3])
            let (header, claims) = try parts(origin.requests[0])
            #expect(header == #"{"alg":"EdDSA","kid":"K1","typ":"JWT"}"#)
            #expect(Set(claims.keys) == ["iat", "exp"])
            #expect((claims["exp"] ?? 0) - (claims["iat"] ?? 0) == 3000)
            let status = try await proxy.ask(Raw.get("/status")).body
            #expect(status.contains(#""state":"fresh""#), "\(status)")
            let facts = try await proxy.log("push").map(\.facts)
            #expect(facts.map { $0.auth?.kind } == ["jwt", "jwt", "jwt"])
            #expect(facts.map { $0.auth?.generation } == [1, 2, 2])
            #expect(facts.map(\.retries) == [nil, ["unauthorized"], nil])
        }
    }

    @Test func `the clock offset is learned from a 401 of the API`() async throws {
        let origin = try await OriginServer.start { request in
            guard let date = request["X-Refused-At"] else { return Raw.ok() }
            return Raw.response("401 Unauthorized", fields: ["Date: \(date)"])
        }
        let directory = try TokenDirectory()
        try directory.write(Self.pem("g"), to: "key.pem")
        let jwt = "key: 'file:\(directory.path)/key.pem'"
        try await DaemonHarness.run(channels: channel(origin, jwt)) { proxy in
            let date = "Fri, 15 Jan 2038 08:00:00 GMT"
            let refused = Raw.get("/push/1", "X-Refused-At: \(date)")
            #expect(try await proxy.exchange(refused).status == 401)
            let stamps = try origin.requests.map { try #require(try parts($0).claims["iat"]) }
            #expect(stamps.count == 2)
            #expect(stamps[0] < 2_147_000_000 && stamps[1] >= 2_147_155_140)
        }
    }
}
