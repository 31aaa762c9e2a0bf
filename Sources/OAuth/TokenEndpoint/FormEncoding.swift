import NetworkCore

/// `application/x-www-form-urlencoded` in UTF-8 (RFC 6749 appendix B).
enum FormEncoding {
    /// The parameters in their order; those without a value are left out (RFC 6749 §3.2).
    static func encode(_ parameters: [FormParameter]) -> String {
        parameters.filter { !$0.value.isEmpty }
            .map { "\(encode($0.name))=\(encode($0.value))" }
            .joined(separator: "&")
    }

    /// One name or value: as in HTML, `*` stays and `~` does not.
    static func encode(_ text: String) -> String {
        PercentEncoding.encode(text) { byte in
            switch byte {
            case UInt8(ascii: "*"): true
            case UInt8(ascii: "~"): false
            default: PercentEncoding.isUnreserved(byte)
            }
        }
        .replacing("%20", with: "+")
    }
}
