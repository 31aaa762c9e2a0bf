/// Percent-encoding of the parts of a URI (RFC 3986 §2.1) and of forms (WHATWG URL §5.2).
package enum PercentEncoding {
    /// Encodes all characters except unreserved ones, for a path segment or for a name or value in a query.
    package static func unreserved(_ text: String) -> String {
        encode(text) { isUnreserved($0) }
    }

    /// Encodes like `unreserved`, with `+` for a space.
    package static func form(_ text: String) -> String {
        unreserved(text).replacing("%20", with: "+")
    }

    /// Encodes the bytes that a path segment must not contain, including slashes and `%` (RFC 3986 §3.3).
    static func segment(_ text: String) -> String {
        encode(text) { isPathByte($0) && $0 != UInt8(ascii: "/") }
    }

    /// Encodes the bytes that a path must not contain, except slashes and escapes.
    static func path(_ text: String) -> String {
        let bytes = Array(text.utf8)
        guard !isPath(text[...]) else { return text }
        var result: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            let isEscape =
                byte == UInt8(ascii: "%") && index + 2 < bytes.count
                && Grammar.hexValue(bytes[index + 1]) != nil
                && Grammar.hexValue(bytes[index + 2]) != nil
            if isEscape || isPathByte(byte) {
                result.append(byte)
            } else {
                appendEscape(of: byte, to: &result)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Whether a text is a valid path without further encoding.
    package static func isPath(_ text: Substring) -> Bool {
        var escape = 0
        for byte in text.utf8 {
            if escape > 0 {
                guard Grammar.hexValue(byte) != nil else { return false }
                escape -= 1
            } else if byte == UInt8(ascii: "%") {
                escape = 2
            } else if !isPathByte(byte) {
                return false
            }
        }
        return escape == 0
    }

    /// Returns a text with some bytes replaced by other text.
    ///
    /// Works on bytes, not characters, so that a combining mark cannot hide a quote.
    package static func replacing(_ text: String, _ other: (UInt8) -> String?) -> String {
        guard text.utf8.contains(where: { other($0) != nil }) else { return text }
        var result: [UInt8] = []
        for byte in text.utf8 {
            if let other = other(byte) { result += other.utf8 } else { result.append(byte) }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns a base path joined with a path, with one slash between them.
    package static func join(_ base: String, _ path: String) -> String {
        let encoded = PercentEncoding.path(path)
        if encoded.isEmpty { return base.isEmpty ? "/" : base }
        return encoded.hasPrefix("/") ? base + encoded : "\(base)/\(encoded)"
    }

    /// Whether a path segment is `.` or `..` with a percent-encoded dot.
    ///
    /// Servers decode it and resolve the step (WHATWG URL §4.1), which no caller intends.
    package static func hasEncodedStep(_ path: String) -> Bool {
        guard path.utf8.contains(UInt8(ascii: "%")) else { return false }
        return path.utf8.split(separator: UInt8(ascii: "/")).contains { segment in
            guard segment.contains(UInt8(ascii: "%")), segment.count <= 6 else { return false }
            let text = String(decoding: segment, as: UTF8.self).lowercased()
                .replacing("%2e", with: ".")
            return text == "." || text == ".."
        }
    }

    /// Encodes all bytes for which `isPlain` is `false`.
    package static func encode(_ text: String, _ isPlain: (UInt8) -> Bool) -> String {
        guard !text.utf8.allSatisfy(isPlain) else { return text }
        var result: [UInt8] = []
        for byte in text.utf8 {
            if isPlain(byte) { result.append(byte) } else { appendEscape(of: byte, to: &result) }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func appendEscape(of byte: UInt8, to result: inout [UInt8]) {
        result.append(UInt8(ascii: "%"))
        result.append(digit(byte >> 4))
        result.append(digit(byte & 15))
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? value + UInt8(ascii: "0") : value - 10 + UInt8(ascii: "A")
    }

    /// Whether a byte is unreserved (RFC 3986 §2.3).
    package static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Whether a byte is a `pchar` or a slash (RFC 3986 §3.3).
    private static func isPathByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "!"),
            UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "("),
            UInt8(ascii: ")"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: ","),
            UInt8(ascii: ";"), UInt8(ascii: "="):
            true
        default: isUnreserved(byte)
        }
    }
}

extension PercentEncoding {
    /// Decodes a name or a value in a query, with `+` for a space; invalid escapes remain.
    package static func decoded(_ text: Substring) -> String {
        decode(text, plus: UInt8(ascii: " "))
    }

    /// Decodes a path segment; invalid escapes remain.
    package static func decodedSegment(_ text: Substring) -> String {
        decode(text, plus: UInt8(ascii: "+"))
    }

    private static func decode(_ text: Substring, plus: UInt8) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = rest.first.flatMap(Grammar.hexValue),
                let low = rest.dropFirst().first.flatMap(Grammar.hexValue)
            {
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? plus : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
