import FoundationEssentials
public import NetworkCore

/// A signed statement of who asks (RFC 7523): a client assertion or an assertion grant.
///
/// Each signing makes one of its own, with a fresh `jti` and a short life.
public struct Assertion: Sendable {
    /// How long an assertion is good for.
    ///
    /// 60 s, as oauth4webapi; servers refuse long ones, and it is used at once.
    public static let lifetime = Duration.seconds(60)

    /// Signs it.
    public var key: SigningKey
    /// Who says so (`iss`).
    public var issuer: String
    /// For whom (`sub`).
    public var subject: String
    /// To whom (`aud`), as one string.
    ///
    /// The issuer identifier of the authorization server by default: its token endpoint's URL is
    /// what CVE-2025-27370 is about, but some servers want that.
    public var audience: String
    /// The `scope` claim, which service accounts put here instead of into the form.
    public var scope: String?

    /// Describes an assertion.
    public init(
        key: SigningKey,
        issuer: String,
        subject: String,
        audience: String,
        scope: String? = nil
    ) {
        self.key = key
        self.issuer = issuer
        self.subject = subject
        self.audience = audience
        self.scope = scope
    }

    private struct Header: Encodable {
        var alg: String
        var kid: String?
        var typ = "JWT"
    }

    private struct Claims: Encodable {
        var iss: String
        var sub: String
        var aud: String
        var iat: Int
        var exp: Int
        var jti: String
        var scope: String?
    }

    /// Makes the compact form for a token request.
    func presentable(at now: UnixTime) throws(TokenFailure) -> Secret {
        do {
            return try signed(at: Int(now.secondsSinceEpoch))
        } catch {
            throw TokenFailure(.configuration, detail: "the \(key) cannot sign")
        }
    }

    /// Makes the compact form (RFC 7515 §7.1), with a `jti` that was never used before.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Returns: the JWT.
    /// - Throws: what the cryptography library throws; not to be expected of a key that was read.
    public func signed(at now: Int) throws -> Secret {
        let claims = Claims(
            iss: issuer,
            sub: subject,
            aud: audience,
            iat: now,
            exp: now + Int(Assertion.lifetime.components.seconds),
            jti: Base64URL.random(bytes: 16),
            scope: scope
        )
        let header = Header(alg: key.algorithm.rawValue, kid: key.id)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let input =
            try Base64URL.encode(encoder.encode(header)) + "."
            + Base64URL.encode(encoder.encode(claims))
        return Secret(input + "." + Base64URL.encode(try key.signature(of: Array(input.utf8))))
    }
}
