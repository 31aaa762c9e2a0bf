import CNetproxyOpenSSL

/// Converts P-256 signatures between the DER of OpenSSL (RFC 3279 §2.2.3) and two numbers of 32 bytes (RFC
/// 7518 §3.4).
enum ECDSASignature {
    private static let numberLength = 32

    static func numbers(of der: [UInt8]) -> [UInt8]? {
        // SAFETY: the array is used only during the call, which moves only its own pointer into it.
        let decoded = unsafe der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var start = bytes.baseAddress
            return unsafe d2i_ECDSA_SIG(nil, &start, bytes.count)
        }
        guard let decoded = unsafe decoded else { return nil }
        defer { unsafe ECDSA_SIG_free(decoded) }
        guard let r = unsafe padded(ECDSA_SIG_get0_r(decoded)),
            let s = unsafe padded(ECDSA_SIG_get0_s(decoded))
        else { return nil }
        return r + s
    }

    static func encoded(_ numbers: [UInt8]) -> [UInt8]? {
        guard numbers.count == 2 * numberLength, let signature = unsafe ECDSA_SIG_new() else {
            return nil
        }
        defer { unsafe ECDSA_SIG_free(signature) }
        let (r, s) = (Array(numbers.prefix(numberLength)), Array(numbers.suffix(numberLength)))
        // SAFETY: from here on, the signature owns the numbers.
        guard
            unsafe ECDSA_SIG_set0(
                signature,
                BN_bin2bn(r, Int32(numberLength), nil),
                BN_bin2bn(s, Int32(numberLength), nil)
            ) == 1
        else { return nil }
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = unsafe i2d_ECDSA_SIG(signature, &encoded)
        guard length > 0, let encoded = unsafe encoded else { return nil }
        defer { unsafe CRYPTO_free(encoded, #fileID, #line) }
        return unsafe Array(UnsafeBufferPointer(start: encoded, count: Int(length)))
    }

    private static func padded(_ number: OpaquePointer?) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: numberLength)
        let written = unsafe BN_bn2binpad(number, &bytes, Int32(numberLength))
        return Int(written) == numberLength ? bytes : nil
    }
}
