import NetproxyCryptography
public import NetworkCore

/// Proof Key for Code Exchange (RFC 7636), always with S256.
public struct ProofKey: Sendable {
    /// Sent with the code.
    public let verifier: Secret

    /// Makes a new one with 256 bits of entropy (RFC 7636 §7.1).
    public init() {
        self.init(verifier: Secret(Base64URL.random(bytes: 32)))
    }

    package init(verifier: Secret) {
        self.verifier = verifier
    }

    /// Sent with the authorization request (RFC 7636 §4.2).
    public var challenge: String {
        Base64URL.encode(SHA256.digest(of: verifier.reveal()))
    }
}
