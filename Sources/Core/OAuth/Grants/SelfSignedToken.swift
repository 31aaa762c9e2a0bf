import FoundationEssentials
package import NetproxySettings
package import NetworkCore

/// A JSON Web Token (RFC 7519) that an API takes as it is: its claims are the user's, its times those of
/// the moment it is signed.
package struct SelfSignedToken: Sendable {
    /// The maximum age of `iat`: GitHub advises 60 s, for machines whose clock is ahead.
    private static let allowance = Duration.seconds(60)

    private let key: SigningKey
    private let type: String?
    private let claims: [String: TokenClaim]
    private let stamps: Set<TokenStamp>
    /// From `iat` to `exp`: no API has then to accept a longer one than was configured.
    private let lifetime: Duration

    /// Describes a token.
    ///
    /// - Parameters:
    ///   - key: signs it.
    ///   - type: the `typ` of its header; `nil` leaves it out.
    ///   - claims: its claims, without stamps.
    ///   - stamps: the stamps to add.
    ///   - lifetime: from `iat` to `exp`.
    package init(
        key: SigningKey,
        type: String? = "JWT",
        claims: [String: TokenClaim],
        stamps: Set<TokenStamp> = TokenStamp.usual,
        lifetime: Duration
    ) {
        self.key = key
        self.type = type
        self.claims = claims
        self.stamps = stamps
        self.lifetime = lifetime
    }

    /// `iat` is this long in the past: at most a tenth of the lifetime.
    private var backdating: Duration { min(Self.allowance, lifetime / 10) }

    /// The lifetime after signing.
    package var validity: Duration { lifetime - backdating }

    /// Returns the compact form (RFC 7515 §7.1).
    ///
    /// - Parameter now: the time of day as the API has it.
    /// - Returns: the JWT.
    /// - Throws: `TokenFailure` if the key cannot sign; not expected of a parsed one.
    package func signed(at now: UnixTime) throws(TokenFailure) -> Secret {
        let issued = Int(now.secondsSinceEpoch) - Int(backdating.components.seconds)
        var members = claims
        for stamp in stamps {
            members[stamp.rawValue] =
                switch stamp {
                case .issuedAt, .notBefore: .number(issued)
                case .expiry: .number(issued + Int(lifetime.components.seconds))
                case .id: .text(Base64URL.random(bytes: 16))
                }
        }
        var header = ["alg": key.algorithm.rawValue]
        header["kid"] = key.id
        header["typ"] = type
        do {
            return try key.compactForm(of: header, members)
        } catch {
            throw TokenFailure(.configuration, detail: "the \(key) cannot sign")
        }
    }
}

extension SigningKey {
    /// Returns a signed JWT in its compact form (RFC 7515 §7.1).
    ///
    /// - Throws: the error of the cryptography library; not expected of a parsed key.
    func compactForm(of header: some Encodable, _ claims: some Encodable) throws -> Secret {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let input =
            try Base64URL.encode(encoder.encode(header)) + "."
            + Base64URL.encode(encoder.encode(claims))
        return Secret(input + "." + Base64URL.encode(try signature(of: Array(input.utf8))))
    }
}
