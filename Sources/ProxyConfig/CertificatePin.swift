import FoundationEssentials

/// The SHA-256 of a certificate's SubjectPublicKeyInfo, written `sha256/BASE64`.
package struct CertificatePin: Sendable, Hashable {
    /// 32 bytes.
    package let sha256: [UInt8]

    package init?(text: String) {
        guard text.hasPrefix("sha256/"),
            let digest = Data(base64Encoded: String(text.dropFirst(7))), digest.count == 32
        else { return nil }
        sha256 = Array(digest)
    }
}
