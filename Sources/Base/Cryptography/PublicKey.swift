import CNetproxyOpenSSL

/// The kind of a key, which determines its signature algorithm.
package enum KeyKind: Sendable {
    /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 §8.2).
    case rsa
    /// ECDSA with P-256 and SHA-256.
    case p256
    /// Ed25519 (RFC 8032).
    case ed25519
}

/// The public half of a key.
// SAFETY: an EVP_PKEY is reference-counted and not modified after `init`.
@safe package final class PublicKey: @unchecked Sendable {
    private let key: OpaquePointer
    private let kind: KeyKind

    init(owning key: OpaquePointer, _ kind: KeyKind) {
        unsafe self.key = key
        self.kind = kind
    }

    /// Creates a P-256 key from a point, two coordinates of 32 bytes; `nil` if the point is not on the curve.
    package convenience init?(p256 point: [UInt8]) {
        defer { ERR_clear_error() }
        guard point.count == 64 else { return nil }
        // The SubjectPublicKeyInfo of an uncompressed point of P-256 (RFC 5480 §2) has one form.
        let head: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06,
            0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
        ]
        let encoded = head + point
        // SAFETY: the array is used only during the call, which moves only its own pointer into it.
        let key = unsafe encoded.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var start = bytes.baseAddress
            return unsafe d2i_PUBKEY(nil, &start, bytes.count)
        }
        guard let key = unsafe key else { return nil }
        unsafe self.init(owning: key, .p256)
    }

    deinit {
        unsafe EVP_PKEY_free(key)
    }

    /// The key in DER as SubjectPublicKeyInfo (RFC 5280 §4.1.2.7).
    package var der: [UInt8] {
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = unsafe i2d_PUBKEY(key, &encoded)
        guard length > 0, let encoded = unsafe encoded else { return [] }
        defer { unsafe CRYPTO_free(encoded, #fileID, #line) }
        return unsafe Array(UnsafeBufferPointer(start: encoded, count: Int(length)))
    }

    /// The modulus of an RSA key, big-endian without leading zeros; empty for other kinds.
    package var modulus: [UInt8] { number(OSSL_PKEY_PARAM_RSA_N) }

    /// The public exponent of an RSA key, big-endian without leading zeros; empty for other kinds.
    package var exponent: [UInt8] { number(OSSL_PKEY_PARAM_RSA_E) }

    /// The coordinates of a P-256 key's point, concatenated, 32 bytes each; empty for other kinds.
    package var point: [UInt8] {
        guard kind == .p256 else { return [] }
        return [OSSL_PKEY_PARAM_EC_PUB_X, OSSL_PKEY_PARAM_EC_PUB_Y].flatMap { name in
            let bytes = number(name)
            return [UInt8](repeating: 0, count: 32 - bytes.count) + bytes
        }
    }

    /// The 32 bytes of an Ed25519 key; empty for other kinds.
    package var raw: [UInt8] {
        guard kind == .ed25519 else { return [] }
        var bytes = [UInt8](repeating: 0, count: 32)
        var length = bytes.count
        let isRead = unsafe EVP_PKEY_get_raw_public_key(key, &bytes, &length) == 1
        return isRead ? bytes : []
    }

    /// Whether the private half produced the signature, which has the format of JSON Web Signatures.
    package func isSignature(_ signature: [UInt8], of bytes: [UInt8]) -> Bool {
        defer { ERR_clear_error() }
        guard let context = unsafe EVP_MD_CTX_new() else { fatalError("out of memory") }
        defer { unsafe EVP_MD_CTX_free(context) }
        guard
            let encoded = kind == .p256 ? ECDSASignature.encoded(signature) : signature
        else { return false }
        let digest = unsafe kind == .ed25519 ? nil : EVP_sha256()
        return unsafe EVP_DigestVerifyInit(context, nil, digest, nil, key) == 1
            && EVP_DigestVerify(context, encoded, encoded.count, bytes, bytes.count) == 1
    }

    /// Returns one of the numbers of the key; empty if the key has no number with this name.
    private func number(_ name: String) -> [UInt8] {
        defer { ERR_clear_error() }
        var number: OpaquePointer?
        guard unsafe EVP_PKEY_get_bn_param(key, name, &number) == 1, let number = unsafe number
        else { return [] }
        defer { unsafe BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: unsafe Int(BN_num_bits(number) + 7) / 8)
        _ = unsafe BN_bn2bin(number, &bytes)
        return bytes
    }
}
