import FoundationEssentials

/// The SHA-256 of a certificate's SubjectPublicKeyInfo.
package struct CertificatePin: Sendable, Hashable {
    private let sha256: [UInt8]

    /// Creates a pin from the 32 bytes of the hash.
    package init(sha256: [UInt8]) {
        self.sha256 = sha256
    }

    /// Parses `sha256/BASE64`; `nil` unless it is the canonical encoding of 32 bytes.
    package init?(text: String) {
        guard text.hasPrefix("sha256/") else { return nil }
        let base64 = String(text.dropFirst("sha256/".count))
        // The decoder accepts several spellings of the same bytes.
        guard let digest = Data(base64Encoded: base64), digest.count == 32,
            digest.base64EncodedString() == base64
        else { return nil }
        sha256 = Array(digest)
    }

    /// The pin as `sha256/BASE64`.
    package var text: String { "sha256/\(Data(sha256).base64EncodedString())" }
}
