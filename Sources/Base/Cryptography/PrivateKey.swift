import CNetproxyOpenSSL

/// A private signing key: RSA of 2048 bits or more, ECDSA with P-256, or Ed25519.
// SAFETY: an EVP_PKEY is reference-counted and not modified after `init`; OpenSSL can sign with the same key
// on several threads at a time.
@safe package final class PrivateKey: @unchecked Sendable {
    private let key: OpaquePointer
    package let kind: KeyKind

    /// Parses a key in PEM without a passphrase: PKCS#8, PKCS#1 or SEC1.
    ///
    /// Returns `nil` if the text is not a key, the kind is not supported, the key is too short, or its halves
    /// do not match.
    package convenience init?(pem: String) {
        defer { ERR_clear_error() }
        let bytes = Array(pem.utf8)
        // Without a passphrase argument, OpenSSL would prompt on the terminal.
        var passphrase: [CChar] = [0]
        // SAFETY: the buffer reads from the array; the array and the passphrase outlive the call.
        let found = unsafe bytes.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let buffer = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else {
                return nil
            }
            defer { unsafe BIO_free(buffer) }
            return unsafe PEM_read_bio_PrivateKey(buffer, nil, nil, &passphrase)
        }
        guard let found = unsafe found else { return nil }
        unsafe self.init(owning: found)
    }

    /// Creates an Ed25519 key from a seed of 32 bytes (RFC 8032 §5.1.5).
    package convenience init?(ed25519Seed seed: [UInt8]) {
        defer { ERR_clear_error() }
        guard
            let key = unsafe EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count)
        else { return nil }
        unsafe self.init(owning: key)
    }

    private init?(owning key: OpaquePointer) {
        unsafe self.key = key
        switch unsafe EVP_PKEY_get_base_id(key) {
        case EVP_PKEY_RSA: kind = .rsa
        case EVP_PKEY_EC: kind = .p256
        default: kind = .ed25519
        }
        guard unsafe Self.isSupported(key), let signature = signature(of: Self.probe),
            publicKey.isSignature(signature, of: Self.probe)
        else { return nil }
    }

    deinit {
        unsafe EVP_PKEY_free(key)
    }

    private static let probe = Array("do both halves go together?".utf8)

    private static func isSupported(_ key: OpaquePointer) -> Bool {
        switch unsafe EVP_PKEY_get_base_id(key) {
        case EVP_PKEY_RSA: return unsafe EVP_PKEY_get_bits(key) >= 2048
        case EVP_PKEY_ED25519: return true
        case EVP_PKEY_EC:
            var name = [CChar](repeating: 0, count: 32)
            let isNamed = unsafe EVP_PKEY_get_group_name(key, &name, name.count, nil) == 1
            let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            return isNamed && String(decoding: bytes, as: UTF8.self) == SN_X9_62_prime256v1
        default: return false
        }
    }

    /// Signs bytes.
    ///
    /// The signature has the format of JSON Web Signatures (RFC 7518 §3, RFC 8037 §3.1), which for P-256 is
    /// two numbers of 32 bytes.
    ///
    /// Returns `nil` if OpenSSL refuses, which is not expected for a key that was parsed.
    package func signature(of bytes: [UInt8]) -> [UInt8]? {
        defer { ERR_clear_error() }
        guard let context = unsafe EVP_MD_CTX_new() else { fatalError("out of memory") }
        defer { unsafe EVP_MD_CTX_free(context) }
        let digest = unsafe kind == .ed25519 ? nil : EVP_sha256()
        var length = unsafe Int(EVP_PKEY_get_size(key))
        var signature = [UInt8](repeating: 0, count: length)
        guard unsafe EVP_DigestSignInit(context, nil, digest, nil, key) == 1,
            unsafe EVP_DigestSign(context, &signature, &length, bytes, bytes.count) == 1
        else { return nil }
        signature.removeLast(signature.count - length)
        return kind == .p256 ? ECDSASignature.numbers(of: signature) : signature
    }

    /// The public half.
    package var publicKey: PublicKey {
        unsafe EVP_PKEY_up_ref(key)
        return unsafe PublicKey(owning: key, kind)
    }
}
