/// The servers that a channel trusts, by their certificate authorities and public keys.
public struct TrustPolicy: Sendable, Hashable {
    /// A PEM file with the trusted authorities, or the PEM text itself; `nil` selects the system's
    /// authorities.
    public var authorities: String?
    /// The pinned public keys (SubjectPublicKeyInfo) as `sha256/BASE64`.
    ///
    /// The verified chain must contain one of them; an empty list accepts any chain.
    public var pins: [String]

    /// Creates a policy.
    public init(authorities: String? = nil, pins: [String] = []) {
        self.authorities = authorities
        self.pins = pins
    }

    /// The policy that trusts the system's authorities.
    public static let system = TrustPolicy()

    /// Returns a policy that trusts only the authorities of a PEM file or text.
    public static func authorities(_ pem: String) -> TrustPolicy {
        TrustPolicy(authorities: pem)
    }

    /// Returns a policy that requires one of these keys in a chain from the system's authorities or from
    /// those of a file.
    public static func pinned(_ pins: [String], authorities: String? = nil) -> TrustPolicy {
        TrustPolicy(authorities: authorities, pins: pins)
    }
}
