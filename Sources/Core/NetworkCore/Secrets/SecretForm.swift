import FoundationEssentials
import NetproxyBytes

/// One form of a secret: the bytes, or their base64, which a text may spell with escapes.
struct SecretForm: Sendable {
    let bytes: [UInt8]
    let isBase64: Bool

    init(_ bytes: [UInt8]) { self.init(bytes, isBase64: false) }

    private init(_ bytes: [UInt8], isBase64: Bool) {
        (self.bytes, self.isBase64) = (bytes, isBase64)
    }

    /// The base64 forms of the bytes, one for each offset within a group of three bytes.
    ///
    /// They omit the characters that depend on the adjacent bytes.
    var base64: [SecretForm] {
        (0..<3).map { offset in
            let encoded = Data([UInt8](repeating: 0, count: offset) + bytes).base64EncodedString()
            let whole = (offset + bytes.count) * 8 / 6
            let form = encoded.utf8.prefix(whole).dropFirst((offset * 8 + 5) / 6)
            return SecretForm(Array(form), isBase64: true)
        }
    }

    /// The end of an occurrence.
    enum End {
        case mismatch
        /// The bytes end within a possible occurrence.
        case cut
        case end(Int)
    }

    /// The number of spelled bytes and of the bytes that they stand for.
    private enum Step {
        case mismatch, cut
        case taken(Int, for: Int)
    }

    private static let percent = UInt8(ascii: "%")
    private static let backslash = UInt8(ascii: "\\")
    private static let ampersand = UInt8(ascii: "&")
    /// The maximum number of nested percent-encodings.
    private static let deepest = 4
    /// The maximum number of digits in a character reference, with its semicolon.
    private static let longestReference = 8
    private static let references: [UInt8: [UInt8]] = [
        UInt8(ascii: "&"): Array("&amp;".utf8), UInt8(ascii: "<"): Array("&lt;".utf8),
        UInt8(ascii: ">"): Array("&gt;".utf8), UInt8(ascii: "\""): Array("&quot;".utf8),
        UInt8(ascii: "'"): Array("&apos;".utf8),
    ]

    /// Marks the bytes with which an occurrence can begin.
    func markStarts(in starts: inout [Bool]) {
        for byte in [SecretForm.percent, SecretForm.backslash, SecretForm.ampersand] {
            starts[Int(byte)] = true
        }
        guard let first = bytes.first else { return }
        for byte in UInt8.min...UInt8.max where byte == first || SecretForm.stands(byte, for: first)
        {
            starts[Int(byte)] = true
        }
    }

    /// Returns the end of an occurrence that begins at a position.
    func end(in source: Span<UInt8>, from start: Int) -> End {
        // Check the unchanged form first, before its bytes are read as escapes.
        var count = 0
        while count < bytes.count, start + count < source.count,
            source[start + count] == bytes[count]
        {
            count += 1
        }
        if count == bytes.count { return .end(start + count) }
        var isCut = start + count == source.count
        var (position, index) = (start, 0)
        spelling: while index < bytes.count {
            guard position < source.count else { return .cut }
            switch step(index, in: source, at: position) {
            case .mismatch: break spelling
            case .cut:
                isCut = true
                break spelling
            case .taken(let taken, let given):
                position += taken
                index += given
            }
        }
        if index == bytes.count { return .end(position) }
        return isCut ? .cut : .mismatch
    }

    private func step(_ index: Int, in source: Span<UInt8>, at position: Int) -> Step {
        let (wanted, found) = (bytes[index], source[position])
        let escape: Step =
            switch found {
            case SecretForm.percent: percentStep(wanted, in: source, at: position)
            case SecretForm.backslash: backslashStep(index, in: source, at: position)
            case SecretForm.ampersand: referenceStep(wanted, in: source, at: position)
            default: .mismatch
            }
        if case .mismatch = escape {
            return found == wanted || SecretForm.stands(found, for: wanted)
                ? .taken(1, for: 1) : .mismatch
        }
        return escape
    }

    /// Reads `%2F`, or `%252F` if encoded twice.
    private func percentStep(_ wanted: UInt8, in source: Span<UInt8>, at start: Int) -> Step {
        var digits = start + 1
        for _ in 0..<SecretForm.deepest {
            switch SecretForm.hex(2, in: source, at: digits) {
            case .cut: return .cut
            case .mismatch: return .mismatch
            case .taken(_, let value):
                digits += 2
                if value == wanted { return .taken(digits - start, for: 1) }
                guard value == SecretForm.percent else { return .mismatch }
            }
        }
        return .mismatch
    }

    /// Reads an escape in a string of JSON (RFC 8259 §7).
    private func backslashStep(_ index: Int, in source: Span<UInt8>, at start: Int) -> Step {
        guard start + 1 < source.count else { return .cut }
        guard source[start + 1] == UInt8(ascii: "u") else {
            return source[start + 1] == bytes[index] ? .taken(2, for: 1) : .mismatch
        }
        switch SecretForm.hex(4, in: source, at: start + 2) {
        case .cut: return .cut
        case .mismatch: return .mismatch
        case .taken(_, let value):
            guard let scalar = Unicode.Scalar(UInt32(value)) else { return .mismatch }
            let given = Array(String(scalar).utf8)
            return bytes[index...].starts(with: given) ? .taken(6, for: given.count) : .mismatch
        }
    }

    /// Reads a character reference of HTML: `&amp;`, `&#38;` or `&#x26;`.
    private func referenceStep(_ wanted: UInt8, in source: Span<UInt8>, at start: Int) -> Step {
        guard start + 1 < source.count else { return .cut }
        guard source[start + 1] == UInt8(ascii: "#") else {
            guard let name = SecretForm.references[wanted] else { return .mismatch }
            for (offset, byte) in name.enumerated() {
                guard start + offset < source.count else { return .cut }
                guard source[start + offset] == byte else { return .mismatch }
            }
            return .taken(name.count, for: 1)
        }
        guard start + 2 < source.count else { return .cut }
        let isHex = source[start + 2] | 0x20 == UInt8(ascii: "x")
        let digits = start + (isHex ? 3 : 2)
        var value = 0
        for position in digits..<(digits + SecretForm.longestReference) {
            guard position < source.count else { return .cut }
            if source[position] == UInt8(ascii: ";") {
                return value == wanted ? .taken(position + 1 - start, for: 1) : .mismatch
            }
            guard let digit = Grammar.hexValue(source[position]), isHex || digit < 10 else {
                return .mismatch
            }
            value = value * (isHex ? 16 : 10) + Int(digit)
        }
        return .mismatch
    }

    /// Reads a hexadecimal number with some digits; the second number of the step is its value.
    private static func hex(_ count: Int, in source: Span<UInt8>, at start: Int) -> Step {
        var value = 0
        for position in start..<(start + count) {
            guard position < source.count else { return .cut }
            guard let digit = Grammar.hexValue(source[position]) else { return .mismatch }
            value = value << 4 | Int(digit)
        }
        return .taken(count, for: value)
    }

    /// Whether a character replaces another: `+` for a space in forms, `-` and `_` in base64url (RFC 4648
    /// §5).
    private static func stands(_ found: UInt8, for byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: " "): found == UInt8(ascii: "+")
        case UInt8(ascii: "+"): found == UInt8(ascii: "-")
        case UInt8(ascii: "/"): found == UInt8(ascii: "_")
        default: false
        }
    }

    static func isBase64(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "+/-_=".utf8.contains(byte)
        }
    }
}
