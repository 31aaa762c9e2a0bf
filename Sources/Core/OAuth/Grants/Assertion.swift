public import NetworkCore

/// The content of a signed JWT (RFC 7523): a client assertion or an assertion grant.
///
/// Each signature makes a new JWT, with a new `jti` and a short lifetime.
public struct Assertion: Sendable {
    /// The lifetime of an assertion.
    ///
    /// 60 s, as in oauth4webapi: it is used at once, and some servers refuse longer ones.
    public static let lifetime = Duration.seconds(60)

    /// Signs it.
    public var key: SigningKey
    /// The `iss` claim.
    public var issuer: String
    /// The `sub` claim.
    public var subject: String
    /// The `aud` claim, as one string.
    ///
    /// Usually the issuer identifier of the authorization server. Some servers require the URL of their
    /// token endpoint, which CVE-2025-27370 warns about.
    public var audience: String
    /// The `scope` claim, which service accounts use instead of the form parameter.
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

    /// Returns the compact form for a token request.
    func presentable(at now: UnixTime) throws(TokenFailure) -> Secret {
        do {
            return try signed(at: Int(now.secondsSinceEpoch))
        } catch {
            throw TokenFailure(.configuration, detail: "the \(key) cannot sign")
        }
    }

    /// Returns the compact form (RFC 7515 §7.1), with a new `jti`.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Returns: the JWT.
    /// - Throws: the error of the cryptography library; not expected of a parsed key.
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
        return try key.compactForm(of: header, claims)
    }
}
