import CNetproxyOpenSSL

/// PEM text (RFC 7468) in memory rather than in a file.
enum PEMText {
    /// Whether a string is PEM text rather than a path; no file has such a name.
    static func isOne(_ text: String) -> Bool { text.contains("-----BEGIN ") }

    /// Calls `body` with a BIO that reads the text and is valid only during the call.
    static func read<Result>(
        _ text: String,
        _ body: (OpaquePointer) -> Result?
    ) -> Result? {
        let bytes = Array(text.utf8)
        // SAFETY: the BIO reads the bytes in place and is freed before them.
        return unsafe bytes.withUnsafeBytes { bytes in
            guard let bio = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else {
                return nil
            }
            defer { unsafe BIO_free(bio) }
            return unsafe body(bio)
        }
    }

    /// Calls `use` with each certificate of a text and its number.
    ///
    /// - Returns: the number of certificates; `nil` if there are none, or if `use` rejected one.
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
