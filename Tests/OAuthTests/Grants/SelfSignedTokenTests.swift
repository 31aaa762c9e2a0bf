import NetproxySettings
import NetworkCore
import OAuth
import Testing

/// Tokens signed here that an API accepts directly.
@Suite struct SelfSignedTokenTests {
    private func token(
        _ key: Secret = SampleKeys.p256,
        id: String? = "K1",
        type: String? = "JWT",
        claims: [String: TokenClaim] = ["iss": .text("TEAM")],
        stamps: Set<TokenStamp> = [.issuedAt, .expiry],
        lifetime: Duration = .seconds(1200)
    ) throws -> SelfSignedToken {
        SelfSignedToken(
            key: try SigningKey(pem: key, id: id),
            type: type,
            claims: claims,
            stamps: stamps,
            lifetime: lifetime
        )
    }

    private let now = UnixTime(secondsSinceEpoch: 1_800_000_000)

    @Test(arguments: [SampleKeys.p256, SampleKeys.rsa])
    func `it has the header of its key and is signed by it`(pem: Secret) throws {
        let key = try SigningKey(pem: pem)
        let signed = try SignedToken(try token(pem).signed(at: now))
        #expect(
            signed.header == ["alg": key.algorithm.rawValue, "kid": "K1", "typ": "JWT"]
        )
        #expect(signed.isSigned(by: key))
        let bare = try SignedToken(try token(pem, id: nil, type: nil).signed(at: now))
        #expect(bare.header == ["alg": key.algorithm.rawValue])
    }

    @Test(arguments: [(1200, 60), (600, 60), (3600, 60), (300, 30), (60, 6)])
    func `it is as long as configured, and begins a little in the past`(
        lifetime: Int,
        backdating: Int
    ) throws {
        let token = try token(lifetime: .seconds(lifetime))
        let claims = try SignedToken(try token.signed(at: now)).claims
        #expect(claims["iat"] as? Int == 1_800_000_000 - backdating)
        #expect(claims["exp"] as? Int == 1_800_000_000 - backdating + lifetime)
        #expect(token.validity == .seconds(lifetime - backdating))
    }

    @Test func `it has the configured stamps, and another id each time`() throws {
        let token = try token(stamps: [.issuedAt, .notBefore, .id])
        let first = try SignedToken(try token.signed(at: now)).claims
        let second = try SignedToken(try token.signed(at: now)).claims
        #expect(first["exp"] == nil)
        #expect(first["nbf"] as? Int == first["iat"] as? Int)
        let ids = [first, second].compactMap { $0["jti"] as? String }
        #expect(ids.count == 2 && ids[0] != ids[1] && ids[0].count == 22)
    }

    @Test func `claims of every kind keep it`() throws {
        let token = try token(claims: [
            "iss": .text("42"), "admin": .flag(true), "aud": .list(["a", "b"]),
            "video": .object(["room": .text("r"), "join": .flag(false)]),
        ])
        let claims = try SignedToken(try token.signed(at: now)).claims
        #expect(claims["iss"] as? String == "42")
        #expect(claims["admin"] as? Bool == true)
        #expect(claims["aud"] as? [String] == ["a", "b"])
        let video = claims["video"] as? [String: Any]
        #expect(video?["room"] as? String == "r" && video?["join"] as? Bool == false)
    }
}
