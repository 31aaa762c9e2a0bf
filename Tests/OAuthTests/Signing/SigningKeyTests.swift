import Foundation
import NetproxyCryptography
import NetworkCore
import OAuth
import Testing

/// Private keys and their signatures.
@Suite struct SigningKeys {
    @Test func `the example of RFC 7515 A 2 is signed as printed there`() throws {
        let input =
            "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
            + "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        let printed =
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt"
            + "_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6x"
            + "BArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6"
            + "BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_I"
            + "oypGlUPQGe77Rw"
        let key = try SigningKey(pem: SampleKeys.rsa)
        #expect(Base64URL.encode(try key.signature(of: Array(input.utf8))) == printed)
    }

    @Test func `the example of RFC 8037 A 4 is signed as printed there`() throws {
        let input = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
        let printed =
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
        let key = try SigningKey(pem: SampleKeys.ed25519)
        #expect(Base64URL.encode(try key.signature(of: Array(input.utf8))) == printed)
    }

    @Test(arguments: [
        (SampleKeys.rsa, SigningKey.Algorithm.rs256), (SampleKeys.rsaPKCS1, .rs256),
        (SampleKeys.p256, .es256), (SampleKeys.p256SEC1, .es256), (SampleKeys.ed25519, .edDSA),
    ])
    func `an assertion verifies with the public key`(
        pem: Secret,
        algorithm: SigningKey.Algorithm
    ) throws {
        let key = try SigningKey(pem: pem, id: "k1")
        #expect(key.algorithm == algorithm)
        let assertion = Assertion(
            key: key,
            issuer: "client",
            subject: "client",
            audience: "https://login.example.com"
        )
        let token = try SignedToken(try assertion.signed(at: 1_700_000_000))
        #expect(token.header == ["alg": algorithm.rawValue, "kid": "k1", "typ": "JWT"])
        #expect(token.claims["iss"] as? String == "client")
        #expect(token.claims["sub"] as? String == "client")
        #expect(token.claims["aud"] as? String == "https://login.example.com")
        #expect(token.claims["iat"] as? Int == 1_700_000_000)
        #expect(token.claims["exp"] as? Int == 1_700_000_060)
        #expect(token.isSigned(by: key))
    }

    @Test func `no two assertions have the same jti`() throws {
        let assertion = Assertion(
            key: try SigningKey(pem: SampleKeys.p256),
            issuer: "a",
            subject: "a",
            audience: "b"
        )
        let ids = try (0..<64).map { _ in
            try SignedToken(try assertion.signed(at: 0)).claims["jti"] as? String
        }
        #expect(Set(ids).count == 64)
        #expect(!ids.contains(nil))
    }

    @Test func `parameters before a key are skipped`() throws {
        let file = """
            -----BEGIN EC PARAMETERS-----\r
            BggqhkjOPQMBBw==\r
            -----END EC PARAMETERS-----\r
            \(SampleKeys.p256SEC1.reveal())
            """
        #expect(try SigningKey(pem: Secret(file)).algorithm == .es256)
    }

    /// The forms of a key in environment files, secret stores and web forms.
    private static let spellings: [@Sendable (String) -> String] = [
        { $0.replacing("\n", with: "\\n") },
        { $0.replacing("\n", with: "\\r\\n") },
        { "\"" + $0.replacing("\n", with: "\\n") + "\"" },
        { $0.replacing("\n", with: " ") },
        { $0.replacing("\n", with: "") },
        { $0.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n") },
        { Data($0.utf8).base64EncodedString() },
        { "\u{FEFF}" + $0.replacing("\n", with: "\r\n") },
        { text in
            let lines = text.split(separator: "\n")
            return "\(lines[0])\n\(lines.dropFirst().dropLast().joined())\n\(lines.last ?? "")"
        },
    ]

    @Test(arguments: spellings.indices)
    func `a key that has lost its lines is read`(index: Int) throws {
        for key in [SampleKeys.p256, SampleKeys.p256SEC1, SampleKeys.ed25519] {
            let spelled = Self.spellings[index](key.reveal())
            let (found, expected) = (
                try SigningKey(pem: Secret(spelled)), try SigningKey(pem: key)
            )
            #expect(found.publicKey.der == expected.publicKey.der)
        }
    }

    @Test func `a key with a passphrase is refused with advice`() {
        #expect(throws: SigningKeyError.encrypted) { try SigningKey(pem: SampleKeys.encrypted) }
    }

    @Test(arguments: [
        "", "hello", "-----BEGIN PRIVATE KEY-----\nMC4C", "-----BEGIN PRIVATE KEY-----",
    ])
    func `a text without a key is refused`(text: String) {
        #expect(throws: SigningKeyError.missing) { try SigningKey(pem: Secret(text)) }
    }

    @Test func `a broken key is refused`() {
        let text = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIE\n-----END PRIVATE KEY-----"
        #expect(throws: SigningKeyError.unusable) { try SigningKey(pem: Secret(text)) }
    }

    @Test func `no description shows a key`() throws {
        let key = try SigningKey(pem: SampleKeys.ed25519, id: "k1")
        var text = "\(key) \(String(reflecting: key))"
        dump(key, to: &text)
        #expect(text.contains("EdDSA key k1"))
        #expect(!text.contains("PrivateKey"))
    }
}

/// Key files of service accounts.
@Suite struct ServiceAccountKeys {
    private func file(_ members: [String: String]) throws -> Secret {
        Secret(String(decoding: try JSONEncoder().encode(members), as: UTF8.self))
    }

    @Test func `name, key and token endpoint are read`() throws {
        let account = try ServiceAccountKey(
            json: file([
                "type": "service_account", "client_email": "robot@example.com",
                "private_key": SampleKeys.rsa.reveal(), "private_key_id": "k7",
                "token_uri": "https://login.example.com/token",
            ])
        )
        #expect(account.email == "robot@example.com")
        #expect(account.tokenURI == "https://login.example.com/token")
        #expect(account.key.id == "k7")
        #expect(account.key.algorithm == .rs256)
    }

    @Test(arguments: [
        (#"{"type":"external_account","audience":"canary"}"#, "external_account", "token_exchange"),
        (#"{"type":"impersonated_service_account"}"#, "impersonated_service_account", "itself"),
        (#"{"type":"authorized_user","client_id":"canary"}"#, "authorized_user", "refresh_token"),
        (#"{"installed":{"client_id":"canary"}}"#, "client_secret", "authorization_code"),
    ])
    func `the error for another file of Google names its type and the next step`(
        file: String,
        type: String,
        advice: String
    ) {
        #expect {
            try ServiceAccountKey(json: Secret(file))
        } throws: { error in
            "\(error)".contains("of the type \(type),") && "\(error)".contains(advice)
                && !"\(error)".contains("canary")
        }
    }

    @Test func `a file without an account is refused, and not quoted`() throws {
        let file = try file(["private_key": "canary-9f3", "token_uri": "https://x.example/t"])
        #expect {
            try ServiceAccountKey(json: file)
        } throws: { error in
            "\(error)".contains("client_email") && !"\(error)".contains("canary")
        }
    }
}

/// A JWT taken apart.
struct SignedToken {
    let header: [String: String]
    let claims: [String: Any]
    private let input: [UInt8]
    private let signature: [UInt8]

    init(_ token: Secret) throws {
        let parts = token.reveal().split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let (first, second) = (
            try #require(Base64URL.decode(parts[0])), try #require(Base64URL.decode(parts[1]))
        )
        header = try JSONDecoder().decode([String: String].self, from: Data(first))
        claims = try #require(
            try JSONSerialization.jsonObject(with: Data(second)) as? [String: Any]
        )
        signature = try #require(Base64URL.decode(parts[2]))
        input = Array("\(parts[0]).\(parts[1])".utf8)
    }

    /// Whether the public half of a key confirms it.
    func isSigned(by key: SigningKey) -> Bool {
        key.publicKey.isSignature(signature, of: input)
    }
}
