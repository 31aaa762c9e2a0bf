/// `application/x-www-form-urlencoded` in UTF-8 (RFC 6749 appendix B).
enum FormEncoding {
    /// The parameters in their order; those without a value are left out (RFC 6749 §3.2).
    static func encode(_ parameters: [FormParameter]) -> String {
        parameters.filter { !$0.value.isEmpty }
            .map { "\(encode($0.name))=\(encode($0.value))" }
            .joined(separator: "&")
    }

    /// One name or value.
    static func encode(_ text: String) -> String {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "*"):
                encoded.append(byte)
            case UInt8(ascii: " "):
                encoded.append(UInt8(ascii: "+"))
            default:
                encoded.append(UInt8(ascii: "%"))
                encoded.append(digit(byte >> 4))
                encoded.append(digit(byte & 15))
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
