import FoundationEssentials

/// Base64 as RFC 4648 §4 has it.
package enum Base64 {
    /// The bytes, or nothing if the text is not base64.
    package static func decode(_ text: String) -> [UInt8]? {
        Data(base64Encoded: text).map(Array.init)
    }

    /// The text of some bytes.
    package static func encode(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
    }
}
