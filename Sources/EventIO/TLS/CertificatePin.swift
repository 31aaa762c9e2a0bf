import COpenSSL

/// The SHA-256 of a certificate's SubjectPublicKeyInfo.
package struct CertificatePin: Sendable, Hashable {
    private static let prefix = "sha256/"
    private let sha256: [UInt8]

    /// Reads `sha256/BASE64`; nothing if that is not the one spelling of 32 bytes.
    package init?(text: String) {
        guard text.hasPrefix(CertificatePin.prefix) else { return nil }
        let base64 = Array(text.utf8.dropFirst(CertificatePin.prefix.utf8.count))
        guard base64.count == 44 else { return nil }
        var decoded = [UInt8](repeating: 0, count: 33)
        guard unsafe EVP_DecodeBlock(&decoded, base64, 44) == 33 else { return nil }
        let digest = Array(decoded.prefix(32))
        var encoded = [UInt8](repeating: 0, count: 45)
        // OpenSSL takes several texts for the same bytes.
        guard unsafe EVP_EncodeBlock(&encoded, digest, 32) == 44, encoded.starts(with: base64)
        else { return nil }
        sha256 = digest
    }

    /// The pin of a certificate's key.
    init?(_ certificate: OpaquePointer) {
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = unsafe i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &encoded)
        guard length > 0, let encoded = unsafe encoded else { return nil }
        defer { unsafe CRYPTO_free(encoded, #fileID, #line) }
        var digest = [UInt8](repeating: 0, count: 32)
        var digestLength: UInt32 = 0
        guard
            unsafe EVP_Digest(encoded, Int(length), &digest, &digestLength, EVP_sha256(), nil) == 1
        else { return nil }
        sha256 = digest
    }
}
