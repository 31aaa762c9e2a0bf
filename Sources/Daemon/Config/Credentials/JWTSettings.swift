/// The tokens that netproxy signs for a channel: JSON Web Tokens (RFC 7519) that the API accepts directly.
package struct JWTSettings: Sendable, Hashable {
    /// A private key in PEM.
    package var key: SecretReference
    /// The required algorithm of the key; nil accepts any key.
    package var algorithm: Algorithm?
    /// The key ID (`kid`) registered with the API.
    package var id: String?
    /// The `typ` of the header; nil omits it.
    package var type: String?
    /// The claims, in the order of the file, without those that netproxy sets.
    package var claims: [Claim]
    /// The claims of a token that netproxy sets.
    package var stamps: Set<Stamp>
    /// The time from `iat` to `exp`.
    package var lifetime: Duration

    package typealias Algorithm = SignatureAlgorithm

    /// A claim that netproxy sets.
    package enum Stamp: String, Sendable, CaseIterable {
        case issuedAt = "iat"
        case expiry = "exp"
        case notBefore = "nbf"
        case id = "jti"

        /// The stamps of a token whose claims do not mention them.
        package static let usual: Set<Stamp> = [.issuedAt, .expiry]
    }

    /// A configured claim.
    package struct Claim: Sendable, Hashable {
        package var name: String
        package var value: Value

        package init(name: String, value: Value) {
            (self.name, self.value) = (name, value)
        }

        /// The value of a claim; numbers are texts.
        package indirect enum Value: Sendable, Hashable {
            case text(String)
            case flag(Bool)
            case list([String])
            case map([Claim])
        }
    }
}
