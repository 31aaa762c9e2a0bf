/// The notation of a shared key's bytes in a secret.
package enum SharedKeyEncoding: String, Sendable, CaseIterable {
    case text, hex, base64
}

/// A signature algorithm, by its name in a JOSE header.
package enum SignatureAlgorithm: String, Sendable, CaseIterable {
    case es256 = "ES256"
    case rs256 = "RS256"
    case edDSA = "EdDSA"
}
