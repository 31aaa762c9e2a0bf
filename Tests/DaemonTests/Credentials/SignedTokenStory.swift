import FoundationEssentials
import NetproxyHTTP1
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
            let refused = Raw.get("/push/1", "X-Refused-At: \(Self.hourAhead)")
            #expect(try await proxy.exchange(refused).status == 401)
            let stamps = try issued(origin)
            try #require(stamps.count == 2)
            #expect((3590...3610).contains(stamps[1] - stamps[0]))
        }
    }

    @Test func `the clock of one API does not set the times of tokens for another`() async throws {
        let other = try await OriginServer.start { _ in
            Raw.response("401 Unauthorized", fields: ["Date: \(Self.hourAhead)"])
        }
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let directory = try TokenDirectory()
        try directory.write(Self.pem("g"), to: "key.pem")
        let head = "identities: { me: { jwt: { key: 'file:\(directory.path)/key.pem' } } }"
        let channels = [("other", other), ("push", origin)].map { name, origin in
            "\(name): { upstream: 'http://127.0.0.1:\(origin.port)', auth: { identity: me } }"
        }
        let yaml = channels.joined(separator: "\n")
        try await DaemonHarness.run(channels: yaml, root: head) { proxy in
            #expect(try await proxy.exchange(Raw.get("/push/1")).status == 200)
            #expect(try await proxy.exchange(Raw.get("/other/1")).status == 401)
            #expect(try await proxy.exchange(Raw.get("/push/2")).status == 200)
            let (theirs, ours) = (try issued(other), try issued(origin))
            #expect(ours.allSatisfy { (-10...10).contains($0 - ours[0]) })
            #expect(theirs.last.map { $0 - ours[0] > 3000 } == true)
        }
    }

    /// The issue times of the tokens in the requests to an origin.
    private func issued(_ origin: OriginServer) throws -> [Int] {
        try origin.requests.map { try #require(try parts($0).claims["iat"]) }
    }

    private static var hourAhead: String {
        HTTPDate.text(UInt64(Date().timeIntervalSince1970) + 3600)
    }
}
