import CNetproxyOpenSSL
import NetproxyBytes

extension CertificatePin {
    /// Creates the pin of a certificate's key.
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
        self.init(sha256: digest)
    }
}
