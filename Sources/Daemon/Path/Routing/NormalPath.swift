import NetproxyHTTPMessage
import NetworkCore

/// A path in the normal form for comparison with patterns (RFC 3986 §6.2.2).
///
/// Escapes are in upper case; unreserved characters are never escaped, and characters not allowed in a
/// path always are. `/caf%c3%a9`, `/caf%C3%A9` and `/%63af%C3%A9` are the same path. Escaped delimiters
/// stay escaped: `%2F` is not a slash.
struct NormalPath {
    private(set) var bytes: [UInt8] = []

    init(_ path: Span<UInt8>) {
        bytes.reserveCapacity(path.count)
        var index = 0
        while index < path.count {
            let (byte, length) = PercentByte.decoded(at: index, in: path)
            index += length
            let isPlain =
                PercentEncoding.isUnreserved(byte) || length == 1 && NormalPath.mayStand(byte)
            if isPlain {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(NormalPath.digit(byte >> 4))
                bytes.append(NormalPath.digit(byte & 15))
            }
        }
    }

    /// Whether an unescaped byte stays unescaped.
    ///
    /// These are the delimiters of RFC 3986 §3.3 and a bare `%`, which occurs only in patterns.
    private static func mayStand(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "!"),
            // $%&'()*+,
            UInt8(ascii: "$")...UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="):
            true
        default: false
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? value + UInt8(ascii: "0") : value - 10 + UInt8(ascii: "A")
    }
}

/// Decodes a possibly escaped byte of a path or a query.
enum PercentByte {
    /// Returns the byte at an index and its encoded length: 3 if it is escaped, else 1.
    static func decoded(at index: Int, in text: Span<UInt8>) -> (byte: UInt8, length: Int) {
        let byte = text[index]
        guard byte == UInt8(ascii: "%"), index + 2 < text.count,
            let high = Grammar.hexValue(text[index + 1]),
            let low = Grammar.hexValue(text[index + 2])
        else { return (byte, 1) }
        return (high << 4 | low, 3)
    }
}
