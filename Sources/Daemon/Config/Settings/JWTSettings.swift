/// The tokens that netproxy signs for a channel: JSON Web Tokens (RFC 7519) that the API takes as they are.
package struct JWTSettings: Sendable, Hashable {
    /// A private key in PEM.
    package var key: SecretReference
    /// What the key must sign with; nil means whatever it does.
    package var algorithm: Algorithm?
    /// The key id (`kid`) registered with the API.
    package var id: String?
    /// The `typ` of the header; nil leaves it out.
    package var type: String?
    /// The claims, in the order of the file, without those that netproxy sets.
    package var claims: [Claim]
    /// Which of the claims that netproxy sets a token has.
    package var stamps: Set<Stamp>
    /// From `iat` to `exp`.
    package var lifetime: Duration

    /// An algorithm, by its name in a JOSE header.
    package enum Algorithm: String, Sendable, CaseIterable {
        case es256 = "ES256"
        case rs256 = "RS256"
        case edDSA = "EdDSA"
    }

    /// A claim that netproxy sets.
    package enum Stamp: String, Sendable, CaseIterable {
        case issuedAt = "iat"
        case expiry = "exp"
        case notBefore = "nbf"
        case id = "jti"

        /// Those of a token whose claims say nothing about them.
        package static let usual: Set<Stamp> = [.issuedAt, .expiry]
    }

    /// A claim as configured.
    package struct Claim: Sendable, Hashable {
        package var name: String
        package var value: Value

        package init(name: String, value: Value) {
            (self.name, self.value) = (name, value)
        }

        /// What a claim can be; numbers are texts.
        package indirect enum Value: Sendable, Hashable {
            case text(String)
            case flag(Bool)
            case list([String])
            case map([Claim])
        }
    }
}
