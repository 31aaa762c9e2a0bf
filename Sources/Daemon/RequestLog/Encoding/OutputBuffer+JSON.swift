package import NetproxyBytes

extension OutputBuffer {
    /// Appends a text escaped for a JSON string, without the quotes.
    package func append(escaped text: String) {
        append(escaped: text.utf8.span)
    }

    /// Appends bytes escaped for a JSON string (RFC 8259 §7), without the quotes.
    ///
    /// All control characters, including DEL and C1, are escaped, so that a line stays a single line
    /// and contains no terminal commands. Each maximal invalid part of UTF-8 becomes U+FFFD.
    package func append(escaped bytes: Span<UInt8>) {
        let end = bytes.count
        var start = 0
        var index = bytes.firstUnquotable(from: 0)
        while index < end {
            let byte = bytes[index]
            let isC1 = bytes.isC1Control(at: index)
            if byte >= 0x80, !isC1, let length = bytes.scalarLength(at: index) {
                index = bytes.firstUnquotable(from: index + length)
                continue
            }
            append(bytes.extracting(start..<index))
            if byte < 0x80 {
                append(escape: byte)
                index += 1
            } else if isC1 {
                append(escape: bytes[index + 1])
                index += 2
            } else {
                append("\\ufffd")
                index += bytes.invalidLength(at: index)
            }
            start = index
            index = bytes.firstUnquotable(from: index)
        }
        append(start == 0 ? bytes : bytes.extracting(start..<end))
    }

    private func append(escape byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case 0x0a: append("\\n")
        case 0x0d: append("\\r")
        case 0x09: append("\\t")
        default:
            append(byte < 16 ? "\\u000" : "\\u00")
            append(hexadecimal: UInt64(byte))
        }
    }

    /// Appends a duration in milliseconds, truncated to three decimals, without trailing zeros.
    package func append(milliseconds duration: Duration) {
        let microseconds = Self.microseconds(duration)
        append(decimal: UInt(microseconds / 1000))
        let fraction = microseconds % 1000
        guard fraction != 0 else { return }
        append(UInt8(ascii: "."))
        append(digit: fraction / 100)
        guard fraction % 100 != 0 else { return }
        append(digit: fraction / 10 % 10)
        guard fraction % 10 != 0 else { return }
        append(digit: fraction % 10)
    }

    /// Appends one decimal digit.
    @inline(__always)
    func append(digit: UInt64) {
        append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit))
    }

    /// The whole microseconds of a duration; zero if it is negative.
    private static func microseconds(_ duration: Duration) -> UInt64 {
        let attoseconds = duration.attoseconds
        guard attoseconds > 0 else { return 0 }
        // Up to 18 s fit into 64 bits; a 128-bit division costs ten times as much.
        if let small = UInt64(exactly: attoseconds) { return small / 1_000_000_000_000 }
        return UInt64(clamping: attoseconds / 1_000_000_000_000)
    }
}

/// Text as a JSON string.
package enum JSONText {
    /// Appends a text with its quotation marks.
    package static func append(_ text: String, to output: OutputBuffer) {
        output.append(UInt8(ascii: "\""))
        output.append(escaped: text)
        output.append(UInt8(ascii: "\""))
    }
}
