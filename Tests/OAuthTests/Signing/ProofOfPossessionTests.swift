import Foundation
import NetproxyCryptography
import NetworkCore
import OAuth
import TestSupport
import Testing

/// Proofs of possession by themselves (RFC 9449 §4.2).
@Suite struct ProofOfPossessionTests {
    private let origin = Origin(scheme: .https, host: "server.example.com")

    @Test(arguments: [
        (SampleKeys.rsa, "RS256"), (SampleKeys.p256, "ES256"), (SampleKeys.ed25519, "EdDSA"),
    ])
    func `a proof names its request, and verifies with the key it contains`(
        pem: Secret,
        algorithm: String
    ) throws {
        let key = try SigningKey(pem: pem)
        let proof = ProofOfPossession(key: key, clock: ManualClock())
        let parts = try Proof(proof.proof(for: .post, to: origin, "/token?x=1"))
        #expect(parts.header["typ"] as? String == "dpop+jwt")
        #expect(parts.header["alg"] as? String == algorithm)
        #expect(parts.claims["htm"] as? String == "POST")
        #expect(parts.claims["htu"] as? String == "https://server.example.com/token")
        #expect(parts.claims["ath"] == nil && parts.claims["nonce"] == nil)
        #expect(parts.isSigned(by: key))
        let again = try Proof(proof.proof(for: .post, to: origin, "/token"))
        #expect(parts.claims["jti"] as? String != again.claims["jti"] as? String)
    }

    @Test func `the keys of RFC 7515 and RFC 8037 appear as printed there`() throws {
        func jwk(_ pem: Secret) throws -> [String: String] {
            let proof = ProofOfPossession(key: try SigningKey(pem: pem))
            let parts = try Proof(proof.proof(for: .get, to: origin, "/"))
            return try #require(parts.header["jwk"] as? [String: String])
        }
        #expect(
            try jwk(SampleKeys.p256) == [
                "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
            ]
        )
        #expect(
            try jwk(SampleKeys.ed25519) == [
                "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
            ]
        )
        let rsa = try jwk(SampleKeys.rsa)
        #expect(rsa["e"] == "AQAB")
        #expect(rsa["n"]?.hasPrefix("ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W2") == true)
        #expect(rsa.count == 3)
    }

    @Test func `the thumbprint is that of RFC 8037 A 3`() throws {
        let proof = ProofOfPossession(key: try SigningKey(pem: SampleKeys.ed25519))
        #expect(proof.thumbprint == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
    }

    @Test func `the token's hash is that of RFC 9449 7 1`() throws {
        let proof = ProofOfPossession(key: try SigningKey(pem: SampleKeys.p256))
        let token = Secret("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")
        let parts = try Proof(proof.proof(for: .get, to: origin, "/", presenting: token))
        #expect(parts.claims["ath"] as? String == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo")
    }

    @Test func `each server has its nonce and its clock`() throws {
        let clock = ManualClock(wall: 784_108_177)
        let proof = ProofOfPossession(key: try SigningKey(pem: SampleKeys.p256), clock: clock)
        let other = Origin(scheme: .https, host: "other.example.com")
        // The Date of RFC 9110 §5.6.7, an hour ahead of our clock.
        proof.learn(
            from: ["DPoP-Nonce": "n1", .date: "Sun, 06 Nov 1994 08:49:37 GMT"],
            of: origin,
            as: .authorizationServer
        )
        let parts = try Proof(proof.proof(for: .get, to: origin, "/"))
        #expect(parts.claims["nonce"] as? String == "n1")
        #expect(parts.claims["iat"] as? Int == 784_111_777)
        let token = Secret("t")
        let api = try Proof(proof.proof(for: .get, to: origin, "/", presenting: token))
        #expect(api.claims["nonce"] == nil, "the API at the same origin has its own")
        let foreign = try Proof(proof.proof(for: .get, to: other, "/"))
        #expect(foreign.claims["nonce"] == nil)
        #expect(foreign.claims["iat"] as? Int == Int(clock.wallNow.secondsSinceEpoch))
        proof.learn(from: ["DPoP-Nonce": "n2"], of: origin, as: .authorizationServer)
        #expect(
            try Proof(proof.proof(for: .get, to: origin, "/")).claims["nonce"] as? String == "n2"
        )
    }

    @Test(arguments: ["", "a b", #"a"b"#, #"a\b"#, "\u{00e4}", String(repeating: "n", count: 1025)])
    func `an invalid nonce is ignored`(nonce: String) throws {
        let proof = ProofOfPossession(key: try SigningKey(pem: SampleKeys.p256))
        proof.learn(from: ["DPoP-Nonce": nonce], of: origin, as: .authorizationServer)
        #expect(try Proof(proof.proof(for: .get, to: origin, "/")).claims["nonce"] == nil)
    }

    @Test(arguments: [
        ("*", "https://server.example.com"), ("/a%20b?", "https://server.example.com/a%20b"),
    ])
    func `the URL has neither query nor asterisk`(target: String, url: String) throws {
        let proof = ProofOfPossession(key: try SigningKey(pem: SampleKeys.p256))
        #expect(
            try Proof(proof.proof(for: .get, to: origin, target)).claims["htu"] as? String == url
        )
    }
}

/// A proof, taken apart.
struct Proof {
    let header: [String: Any]
    let claims: [String: Any]
    private let input: String
    private let signature: [UInt8]

    init(_ text: String?) throws {
        let parts = try #require(text).split(separator: ".", omittingEmptySubsequences: false)
        try #require(parts.count == 3)
        func object(_ part: Substring) throws -> [String: Any] {
            let bytes = try #require(Base64URL.decode(String(part)))
            return try #require(
                try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
            )
        }
        header = try object(parts[0])
        claims = try object(parts[1])
        input = "\(parts[0]).\(parts[1])"
        signature = try #require(Base64URL.decode(String(parts[2])))
    }

    /// Whether the key signed it.
    func isSigned(by key: SigningKey) -> Bool {
        key.publicKey.isSignature(signature, of: Array(input.utf8))
    }
}
