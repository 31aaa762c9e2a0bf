import CNetproxyOpenSSL
import NetproxySettings

/// SHA-256 (FIPS 180-4), and HMAC-SHA-256 (RFC 2104).
package enum SHA256 {
    /// The length of a digest, in bytes.
    package static let length = 32

    /// Returns the digest of the bytes.
    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: length)
        // SAFETY: both arrays are passed with their own lengths, and are used only during the call.
        let isDone = unsafe EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
        precondition(isDone == 1, "SHA-256 of bytes in memory does not fail")
        return digest
    }

    /// Returns the digest of a text in UTF-8.
    package static func digest(of text: String) -> [UInt8] {
        digest(of: Array(text.utf8))
    }

    /// Returns the HMAC of the bytes.
    package static func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        KeyedHash.sha256.authenticationCode(of: bytes, key: key)
    }
}
