import CNetproxyOpenSSL

/// AES-256-GCM (NIST SP 800-38D) with a nonce of 12 bytes and a tag of 16.
///
/// A sealed box consists of the nonce, the ciphertext and the tag, in this order.
// SAFETY: a cipher context lives within one call, and every array is passed with its own length.
package enum AESGCM {
    /// The length of a key, in bytes.
    package static let keyLength = 32

    private static let nonceLength = 12
    private static let tagLength = 16

    /// Encrypts bytes under a new random nonce.
    ///
    /// - Parameters:
    ///   - bytes: the plaintext.
    ///   - key: 32 bytes.
    ///   - associated: data that is authenticated but not part of the box.
    /// - Returns: the box.
    package static func seal(
        _ bytes: [UInt8],
        key: [UInt8],
        authenticating associated: [UInt8]
    ) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        let nonce = (0..<nonceLength).map { _ in
            UInt8.random(in: .min ... .max, using: &generator)
        }
        return seal(bytes, key: key, nonce: nonce, authenticating: associated)
    }

    /// Encrypts bytes under a nonce that has never been used with this key.
    package static func seal(
        _ bytes: [UInt8],
        key: [UInt8],
        nonce: [UInt8],
        authenticating associated: [UInt8]
    ) -> [UInt8] {
        precondition(key.count == keyLength && nonce.count == nonceLength, "AES-256-GCM's lengths")
        var ciphertext = [UInt8](repeating: 0, count: bytes.count)
        var tag = [UInt8](repeating: 0, count: tagLength)
        var written: Int32 = 0
        let context = unsafe newContext()
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        let isDone =
            unsafe EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce) == 1
            && EVP_EncryptUpdate(context, nil, &written, associated, Int32(associated.count)) == 1
            && EVP_EncryptUpdate(context, &ciphertext, &written, bytes, Int32(bytes.count)) == 1
            && EVP_EncryptFinal_ex(context, nil, &written) == 1
            && EVP_CIPHER_CTX_ctrl(
                context,
                EVP_CTRL_AEAD_GET_TAG,
                Int32(tagLength),
                &tag
            ) == 1
        precondition(isDone, "AES-GCM of bytes in memory does not fail")
        return nonce + ciphertext + tag
    }

    /// Decrypts a box.
    ///
    /// - Returns: the plaintext; `nil` if the key, the box or the associated data is wrong.
    package static func open(
        _ box: [UInt8],
        key: [UInt8],
        authenticating associated: [UInt8]
    ) -> [UInt8]? {
        precondition(key.count == keyLength, "AES-256-GCM's key")
        guard box.count >= nonceLength + tagLength else { return nil }
        let nonce = Array(box.prefix(nonceLength))
        var tag = Array(box.suffix(tagLength))
        let ciphertext = Array(box.dropFirst(nonceLength).dropLast(tagLength))
        var bytes = [UInt8](repeating: 0, count: ciphertext.count)
        var written: Int32 = 0
        let context = unsafe newContext()
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        let isAuthentic =
            unsafe EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce) == 1
            && EVP_DecryptUpdate(context, nil, &written, associated, Int32(associated.count)) == 1
            && EVP_DecryptUpdate(
                context,
                &bytes,
                &written,
                ciphertext,
                Int32(ciphertext.count)
            ) == 1
            && EVP_CIPHER_CTX_ctrl(
                context,
                EVP_CTRL_AEAD_SET_TAG,
                Int32(tagLength),
                &tag
            ) == 1
            && EVP_DecryptFinal_ex(context, nil, &written) == 1
        ERR_clear_error()
        return isAuthentic ? bytes : nil
    }

    private static func newContext() -> OpaquePointer {
        guard let context = unsafe EVP_CIPHER_CTX_new() else { fatalError("out of memory") }
        return unsafe context
    }
}
