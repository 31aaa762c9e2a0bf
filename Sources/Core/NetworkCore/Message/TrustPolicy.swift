/// Which servers a channel trusts: the authorities that sign their certificates, and the keys that
/// they must hold.
public struct TrustPolicy: Sendable, Hashable {
    /// A PEM file with the authorities to trust, or the PEM text itself; `nil` means the system's.
    public var authorities: String?
    /// `sha256/BASE64` of public keys (SubjectPublicKeyInfo), one of which the verified chain must
    /// hold; empty accepts any chain.
    public var pins: [String]

    /// Describes a policy.
    public init(authorities: String? = nil, pins: [String] = []) {
        self.authorities = authorities
        self.pins = pins
    }

    /// The system's authorities.
    public static let system = TrustPolicy()

    /// The authorities of a PEM file or text, and no others.
    public static func authorities(_ pem: String) -> TrustPolicy {
        TrustPolicy(authorities: pem)
    }

    /// One of these keys, in a chain from the system's authorities or from those of a file.
    public static func pinned(_ pins: [String], authorities: String? = nil) -> TrustPolicy {
        TrustPolicy(authorities: authorities, pins: pins)
    }
}
