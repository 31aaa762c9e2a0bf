import NetproxyBytes

/// The character classes of RFC 9110 §5.6.
///
/// Implemented with bit masks and comparisons, because a table would have to be initialized and loaded.
public enum Grammar {
    /// Whether a byte may be in a token: tchar, RFC 9110 §5.6.2.
    @inlinable public static func isTokenByte(_ byte: UInt8) -> Bool {
        // One bit for each of !#$%&'*+-.^_`|~, the digits and the letters.
        let mask: UInt64 = byte < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return byte < 128 && mask & (1 << UInt64(byte & 63)) != 0
    }

    /// Whether a byte is a letter, a digit or a hyphen, as in almost all field names.
    @inlinable public static func isPlainNameByte(_ byte: UInt8) -> Bool {
        let mask: UInt64 = byte < 64 ? 0x03FF_2000_0000_0000 : 0x07FF_FFFE_07FF_FFFE
        return byte < 128 && mask & (1 << UInt64(byte & 63)) != 0
    }

    /// Whether a byte may be in a field value: visible, SP, HTAB or obs-text (RFC 9110 §5.5).
    @inlinable public static func isFieldValueByte(_ byte: UInt8) -> Bool {
        (byte >= 0x20 && byte != 0x7F) || byte == 0x09
    }

    /// Whether a byte may be in a request target: visible ASCII except `#`, since a target has no fragment
    /// (RFC 9112 §3.2).
    @inlinable public static func isTargetByte(_ byte: UInt8) -> Bool {
        byte &- 0x21 < 0x5E && byte != 0x23
    }

    /// Whether `isTargetByte` is true for every byte.
    package static func isTarget(_ bytes: Span<UInt8>) -> Bool {
        bytes.isVisible(without: UInt8(ascii: "#"))
    }

    /// Whether a byte is a decimal digit.
    @inlinable public static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

    /// Whether a byte is an ASCII letter or digit.
    package static func isAlphanumeric(_ byte: UInt8) -> Bool {
        isDigit(byte) || (byte | 0x20) &- 0x61 < 26
    }

    /// The value of a hexadecimal digit; `nil` for any other byte.
    @inlinable public static func hexValue(_ byte: UInt8) -> UInt8? {
        if byte &- 0x30 < 10 { return byte &- 0x30 }
        let letter = byte | 0x20
        return letter &- 0x61 < 6 ? letter &- 0x57 : nil
    }

    /// Whether a text is a token, which is one or more tchar.
    public static func isToken(_ text: String) -> Bool {
        isToken(text.utf8.span)
    }

    /// Whether the bytes are a token.
    public static func isToken(_ bytes: Span<UInt8>) -> Bool {
        guard !bytes.isEmpty else { return false }
        for index in bytes.indices where !isTokenByte(bytes[index]) { return false }
        return true
    }

    /// Whether a text may be a field value: no control byte except HTAB, and no outer white space.
    public static func isFieldValue(_ text: String) -> Bool {
        let bytes = text.utf8.span
        guard !bytes.isEmpty else { return true }
        guard !isWhitespace(bytes[0]), !isWhitespace(bytes[bytes.count - 1]) else { return false }
        for index in bytes.indices where !isFieldValueByte(bytes[index]) { return false }
        return true
    }

    /// Whether a byte is SP or HTAB (OWS, RFC 9110 §5.6.3).
    @inlinable public static func isWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09
    }

    /// Returns the range of a value without outer white space.
    package static func trimmed(_ value: Span<UInt8>) -> Range<Int> {
        var (start, end) = (0, value.count)
        while start < end, isWhitespace(value[start]) { start += 1 }
        while end > start, isWhitespace(value[end - 1]) { end -= 1 }
        return start..<end
    }

    /// Returns the lowercase form of an ASCII letter; any other byte unchanged.
    @inlinable public static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    /// Whether two texts are equal, ignoring the case of ASCII letters.
    public static func equalIgnoringCase(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        for index in left.indices where lowercased(left[index]) != lowercased(right[index]) {
            return false
        }
        return true
    }

    /// Whether two texts are equal, ignoring the case of ASCII letters.
    public static func equalIgnoringCase(_ left: String, _ right: String) -> Bool {
        equalIgnoringCase(left.utf8.span, right.utf8.span)
    }
}
