import NetproxyConfig
import NetproxySettings
import Testing

/// Tests of tokens that netproxy signs.
@Suite struct JWTTests {
    private func settings(_ jwt: String) throws -> JWTSettings? {
        try channel("auth: { jwt: { \(jwt) } }").authentication.settings(JWTSettings.self)
    }

    @Test func `jwt requires only a key`() throws {
        let settings = try #require(try settings("key: 'file:/k.pem'"))
        #expect(settings.key == .file("/k.pem"))
        #expect(settings.algorithm == nil && settings.id == nil && settings.type == "JWT")
        #expect(settings.claims.isEmpty)
        #expect(settings.stamps == [.issuedAt, .expiry])
        #expect(settings.lifetime == .seconds(1200))
    }

    @Test func `claims may be texts, flags, lists and maps`() throws {
        let settings = try #require(
            try settings(
                "key: 'file:/k.pem', algorithm: ES256, id: K1, type: off, lifetime: 50m, "
                    + "claims: { iss: 42, admin: true, aud: [a, b], video: { room: r }, gone: null }"
            )
        )
        #expect(settings.algorithm == .es256 && settings.id == "K1" && settings.type == nil)
        #expect(settings.lifetime == .seconds(3000))
        #expect(
            settings.claims == [
                "iss": .text("42"), "admin": .flag(true), "aud": .list(["a", "b"]),
                "video": .object(["room": .text("r")]),
            ]
        )
    }

    @Test func `claims set by netproxy can be switched on and off`() throws {
        let settings = try #require(
            try settings("key: 'file:/k.pem', claims: { iss: x, exp: off, jti: on, nbf: 'on' }")
        )
        #expect(settings.stamps == [.issuedAt, .notBefore, .id])
        #expect(settings.claims == ["iss": .text("x")])
    }

    @Test(arguments: [
        ("id: x", "auth.jwt.key: required"),
        ("key: 'abc'", "auth.jwt.key: a secret is written"),
        ("key: 'file:/k', algorithm: HS256", "auth.jwt.algorithm: expected ES256, RS256 or EdDSA"),
        ("key: 'file:/k', lifetime: 59s", "auth.jwt.lifetime: expected a duration from 1m to 24h"),
        ("key: 'file:/k', lifetime: 25h", "auth.jwt.lifetime: expected a duration from 1m to 24h"),
        ("key: 'file:/k', claims: [iss]", "auth.jwt.claims: expected a map"),
        ("key: 'file:/k', claims: { exp: 5 }", "auth.jwt.claims.exp: expected on or off"),
        ("key: 'file:/k', claims: { aud: [[a]] }", "auth.jwt.claims.aud[0]: expected a text"),
        ("key: 'file:/k', claim: x", "auth.jwt.claim: unknown key, did you mean 'claims'?"),
    ])
    func `the error of an invalid jwt value says what was expected`(jwt: String, expected: String) {
        let found = errors(inChannel: "auth: { jwt: { \(jwt) } }")
        #expect(found.count == 1 && found[0].contains(expected), "\(found)")
    }

    @Test func `jwt is one kind of credential`() throws {
        let found = errors(
            inChannel: "auth: { jwt: { key: 'file:/k' }, bearer: 'literal:x' }"
        )
        #expect(found.count == 1 && found[0].contains("only one kind of credential"))
        let placed = try channel("auth: { jwt: { key: 'file:/k' }, in: query, name: jwt }")
        #expect(placed.placement == .query(name: "jwt", prefix: ""))
    }
}
