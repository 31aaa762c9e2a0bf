import CNetproxyOpenSSL
package import NetproxySettings

extension KeyedHash {
    /// The length of the code, in bytes.
    private var length: Int {
        switch self {
        case .sha1: 20
        case .sha256: 32
        case .sha512: 64
        }
    }

    /// Returns the HMAC of the bytes.
    package func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        let function =
            unsafe self == .sha1 ? EVP_sha1() : self == .sha256 ? EVP_sha256() : EVP_sha512()
        var code = [UInt8](repeating: 0, count: length)
        // SAFETY: the arrays are passed with their own lengths and used only during the call; `code` has the
        // length of the function's output.
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
