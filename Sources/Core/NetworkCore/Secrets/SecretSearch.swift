import FoundationEssentials
import NetproxyBytes

/// Finds a secret in a text, in any form in which an API may repeat it.
///
/// It recognizes the unchanged secret, partial and double percent-encoding in either case, JSON escapes, and
/// base64, also after other bytes.
struct SecretSearch {
    /// The minimum length; a shorter secret would match too much text.
    private static let shortest = 4
    /// The base64 forms of the bytes, one for each offset within a group of three bytes.
    ///
    /// They omit the characters that depend on the adjacent bytes.
    private let base64: [[UInt8]]
    private let bytes: [UInt8]

    init(_ secret: Secret) {
        let bytes = Array(secret.reveal().utf8)
        self.bytes = bytes
        base64 = (0..<3).map { offset in
            let encoded = Data([UInt8](repeating: 0, count: offset) + bytes).base64EncodedString()
            let whole = (offset + bytes.count) * 8 / 6
            return Array(encoded.utf8.prefix(whole).dropFirst((offset * 8 + 5) / 6))
        }
    }

    /// Returns the text with a mark instead of the secret.
    func hiding(in text: String, by mark: String = Redaction.mark) -> String {
        guard bytes.count >= SecretSearch.shortest else { return text }
        let source = Array(text.utf8)
        var shown: [UInt8] = []
        var position = 0
        while position < source.count {
            if source[position...].starts(with: bytes) {
                // Check the unchanged form first, before its bytes are read as escapes.
                shown += mark.utf8
                position += bytes.count
            } else if let end = SecretSearch.end(of: bytes, in: source, from: position) {
                shown += mark.utf8
                position = end
            } else if let end = endOfBase64(in: source, from: position) {
                // The adjacent base64 characters contain bits of the secret, so remove them as well.
                while let last = shown.last, SecretSearch.isBase64(last) { shown.removeLast() }
                shown += mark.utf8
                position = end
            } else {
                shown.append(source[position])
                position += 1
            }
        }
        return String(decoding: shown, as: UTF8.self)
    }

    private func endOfBase64(in source: [UInt8], from start: Int) -> Int? {
        for form in base64 {
            guard var end = SecretSearch.end(of: form, in: source, from: start) else { continue }
            while end < source.count, SecretSearch.isBase64(source[end]) { end += 1 }
            return end
        }
        return nil
    }

    /// Returns the end of an occurrence of some bytes at `start`, in any form.
    private static func end(of wanted: [UInt8], in source: [UInt8], from start: Int) -> Int? {
        var position = start
        for byte in wanted {
            guard position < source.count, let length = length(of: byte, in: source, at: position)
            else { return nil }
            position += length
        }
        return position
    }

    /// Returns the length of the encoded form of a byte at a position, if it is there.
    private static func length(of byte: UInt8, in source: [UInt8], at start: Int) -> Int? {
        let found = source[start]
        switch found {
        case UInt8(ascii: "%"):
            // `%2F`, or `%252F` if encoded twice.
            var digits = start + 1
            while let value = hex(source, digits) {
                if value == byte { return digits + 2 - start }
                guard value == found else { break }
                digits += 2
            }
        case UInt8(ascii: "\\") where source[(start + 1)...].starts(with: "u00".utf8):
            if hex(source, start + 4) == byte { return 6 }
        case UInt8(ascii: "\\"):
            if start + 1 < source.count, source[start + 1] == byte { return 2 }
        default: break
        }
        return found == byte || stands(found, for: byte) ? 1 : nil
    }

    private static func hex(_ source: [UInt8], _ position: Int) -> UInt8? {
        guard position + 1 < source.count, let high = Grammar.hexValue(source[position]),
            let low = Grammar.hexValue(source[position + 1])
        else { return nil }
        return high << 4 | low
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

    private static func isBase64(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "+/-_=".utf8.contains(byte)
        }
    }
}
