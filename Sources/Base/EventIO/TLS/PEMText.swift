import CNetproxyOpenSSL

/// PEM (RFC 7468) in memory instead of a file.
enum PEMText {
    /// Whether it is a text and no path: no file is called so.
    static func isOne(_ text: String) -> Bool { text.contains("-----BEGIN ") }

    /// Has a text read; the reader's address is good during the call alone.
    static func read<Result>(
        _ text: String,
        _ body: (OpaquePointer) -> Result?
    ) -> Result? {
        let bytes = Array(text.utf8)
        // SAFETY: the reader uses the bytes where they are, and is freed before they are.
        return unsafe bytes.withUnsafeBytes { bytes in
            guard let bio = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else {
                return nil
            }
            defer { unsafe BIO_free(bio) }
            return unsafe body(bio)
        }
    }

    /// Hands out each certificate of a text with its number.
    ///
    /// - Returns: how many there were; `nil` if one of them was of no use.
    static func certificates(
        of text: String,
        _ use: (_ certificate: OpaquePointer, _ number: Int) -> Bool
    ) -> Int? {
        unsafe read(text) { bio in
            var count = 0
            while let certificate = unsafe PEM_read_bio_X509(bio, nil, nil, nil) {
                defer { unsafe X509_free(certificate) }
                guard unsafe use(certificate, count) else { return nil }
                count += 1
            }
            // The end of the text is not a failure (PEM_R_NO_START_LINE).
            guard count > 0 else { return nil }
            ERR_clear_error()
            return count
        }
    }
}
