import CNetproxyOpenSSL

/// A hash function (FIPS 180-4) that an API chose for its HMAC (RFC 2104).
package enum KeyedHash: String, Sendable, Hashable, CaseIterable {
    /// Too weak for signatures of documents, but not for HMAC.
    case sha1
    case sha256
    case sha512

    /// The length of a code, in bytes.
    private var length: Int {
        switch self {
        case .sha1: 20
        case .sha256: 32
        case .sha512: 64
        }
    }

    /// Returns the HMAC of bytes.
    package func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        let function =
            unsafe self == .sha1 ? EVP_sha1() : self == .sha256 ? EVP_sha256() : EVP_sha512()
        var code = [UInt8](repeating: 0, count: length)
        // SAFETY: the arrays are lent for the call, with their own lengths; the code is as long as the
        // function's.
        let result = unsafe HMAC(
            function,
            key,
            Int32(key.count),
            bytes,
            bytes.count,
            &code,
            nil
        )
        precondition(unsafe result != nil, "HMAC of bytes in memory does not fail")
        return code
    }
}
