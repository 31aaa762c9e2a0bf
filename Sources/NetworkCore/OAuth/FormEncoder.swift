/// `application/x-www-form-urlencoded` (WHATWG URL §5.2), as token endpoints read it.
struct FormEncoder {
    private(set) var text = ""

    mutating func append(_ name: String, _ value: String) {
        if !text.isEmpty { text += "&" }
        text += FormEncoder.encoded(name) + "=" + FormEncoder.encoded(value)
    }

    static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF")
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "*"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: " "): result += "+"
            default:
                result += "%"
                result.append(digits[Int(byte >> 4)])
                result.append(digits[Int(byte & 15)])
            }
        }
        return result
    }
}
