/// A hash function (FIPS 180-4) for HMAC (RFC 2104).
package enum KeyedHash: String, Sendable, Hashable, CaseIterable {
    case sha256
    case sha512
    /// Too weak for document signatures, but not for HMAC.
    case sha1
}

/// The notation of a shared key's bytes in a secret.
package enum SharedKeyEncoding: String, Sendable, CaseIterable {
    case text, hex, base64
}

/// A signature algorithm, by its name in a JOSE header (RFC 7518 §3.1, RFC 8037 §3.1).
public enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// ECDSA with P-256 and SHA-256.
    case es256 = "ES256"
    /// RSA with SHA-256.
    case rs256 = "RS256"
    /// Ed25519.
    case edDSA = "EdDSA"
}

/// The value of a claim in a JSON Web Token (RFC 7519 §4).
package indirect enum TokenClaim: Sendable, Hashable, Encodable {
    case text(String)
    case flag(Bool)
    case number(Int)
    case list([String])
    case object([String: TokenClaim])

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .flag(let flag): try container.encode(flag)
        case .number(let number): try container.encode(number)
        case .list(let texts): try container.encode(texts)
        case .object(let members): try container.encode(members)
        }
    }
}

/// A claim that depends on the time of signing.
package enum TokenStamp: String, Sendable, CaseIterable {
    case issuedAt = "iat"
    case expiry = "exp"
    case notBefore = "nbf"
    /// Different in each token.
    case id = "jti"

    /// The stamps of a token whose claims do not mention them.
    package static let usual: Set<TokenStamp> = [.issuedAt, .expiry]
}
