/// The character classes of RFC 9110 §5.6, in one table.
public enum Grammar {
    /// What a byte may be part of.
    struct Class: OptionSet {
        let rawValue: UInt8
        /// tchar, RFC 9110 §5.6.2.
        static let token = Class(rawValue: 1)
        /// field-vchar, SP and HTAB, RFC 9110 §5.5; obs-text (0x80...0xFF) included.
        static let fieldValue = Class(rawValue: 2)
        /// A byte of a request target: visible ASCII but `#`.
        static let target = Class(rawValue: 4)
    }

    static let classes: InlineArray<256, UInt8> = {
        var table = InlineArray<256, UInt8>(repeating: 0)
        for byte in 0x21...0xFF where byte != 0x7F { table[byte] |= Class.fieldValue.rawValue }
        table[0x20] |= Class.fieldValue.rawValue
        table[0x09] |= Class.fieldValue.rawValue
        for byte in UInt8(ascii: "0")...UInt8(ascii: "9") { table[Int(byte)] |= 1 }
        for byte in UInt8(ascii: "a")...UInt8(ascii: "z") { table[Int(byte)] |= 1 }
        for byte in UInt8(ascii: "A")...UInt8(ascii: "Z") { table[Int(byte)] |= 1 }
        for byte in "!#$%&'*+-.^_`|~".utf8 { table[Int(byte)] |= 1 }
        // Visible ASCII; a fragment has no place in a request target (RFC 9112 §3.2).
        for byte in 0x21...0x7E where byte != Int(UInt8(ascii: "#")) { table[byte] |= 4 }
        return table
    }()

    /// Whether a byte may stand in a token.
    public static func isTokenByte(_ byte: UInt8) -> Bool { classes[Int(byte)] & 1 != 0 }
    /// Whether a byte may stand in a field value: visible, SP, HTAB or obs-text.
    public static func isFieldValueByte(_ byte: UInt8) -> Bool { classes[Int(byte)] & 2 != 0 }
    /// Whether a byte may stand in a request target: visible ASCII other than `#`.
    public static func isTargetByte(_ byte: UInt8) -> Bool { classes[Int(byte)] & 4 != 0 }

    /// Whether a text is a token: at least one tchar and nothing else.
    public static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(isTokenByte)
    }

    /// Whether the bytes are a token.
    public static func isToken(_ bytes: Span<UInt8>) -> Bool {
        guard !bytes.isEmpty else { return false }
        for index in bytes.indices where !isTokenByte(bytes[index]) { return false }
        return true
    }

    /// Whether a text may be a field value: no control byte but HTAB, no outer white space.
    public static func isFieldValue(_ text: String) -> Bool {
        guard let first = text.utf8.first, let last = text.utf8.last else { return true }
        guard !isWhitespace(first), !isWhitespace(last) else { return false }
        return text.utf8.allSatisfy(isFieldValueByte)
    }

    /// Whether a byte is SP or HTAB (OWS, RFC 9110 §5.6.3).
    public static func isWhitespace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// The lower-case form of an ASCII letter; any other byte as it is.
    @inlinable public static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    /// Whether two pieces of text are alike but for the case of ASCII letters.
    public static func equalIgnoringCase(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        for index in left.indices where lowercased(left[index]) != lowercased(right[index]) {
            return false
        }
        return true
    }

    /// Whether two texts are alike but for the case of ASCII letters.
    public static func equalIgnoringCase(_ left: String, _ right: String) -> Bool {
        guard left.utf8.count == right.utf8.count else { return false }
        return left.utf8.elementsEqual(right.utf8) { lowercased($0) == lowercased($1) }
    }
}
