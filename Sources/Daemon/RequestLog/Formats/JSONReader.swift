import NetproxyHTTPMessage

/// Parses one JSON value (RFC 8259), keeping the order of an object's members.
///
/// The lines are normally netproxy's own, but a file may contain anything: the depth is limited to 16 levels,
/// and text that is not JSON is nil.
struct JSONReader {
    private static let depthLimit = 16

    private let bytes: [UInt8]
    private var index = 0

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    static func read(_ bytes: [UInt8]) -> LogValue? {
        var reader = JSONReader(bytes)
        guard let value = reader.value(depth: 0) else { return nil }
        reader.skipSpace()
        return reader.index == bytes.count ? value : nil
    }

    private mutating func value(depth: Int) -> LogValue? {
        skipSpace()
        guard depth < Self.depthLimit, index < bytes.count else { return nil }
        switch bytes[index] {
        case UInt8(ascii: "{"): return object(depth: depth)
        case UInt8(ascii: "["): return list(depth: depth)
        case UInt8(ascii: "\""): return string().map(LogValue.text)
        case UInt8(ascii: "t"): return word("true").map { .flag(true) }
        case UInt8(ascii: "f"): return word("false").map { .flag(false) }
        case UInt8(ascii: "n"): return word("null").map { .null }
        default: return number()
        }
    }

    private mutating func object(depth: Int) -> LogValue? {
        var members: [LogValue.Member] = []
        index += 1
        if take(UInt8(ascii: "}")) { return .object([]) }
        repeat {
            skipSpace()
            guard index < bytes.count, bytes[index] == UInt8(ascii: "\""), let name = string(),
                take(UInt8(ascii: ":")), let value = value(depth: depth + 1)
            else { return nil }
            members.append(LogValue.Member(name: name, value: value))
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "}")) ? .object(members) : nil
    }

    private mutating func list(depth: Int) -> LogValue? {
        var values: [LogValue] = []
        index += 1
        if take(UInt8(ascii: "]")) { return .list([]) }
        repeat {
            guard let value = value(depth: depth + 1) else { return nil }
            values.append(value)
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "]")) ? .list(values) : nil
    }

    private mutating func string() -> String? {
        index += 1
        var text: [UInt8] = []
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let scalar = escape() else { return nil }
                text.append(contentsOf: Character(scalar).utf8)
            case 0..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    private mutating func escape() -> Unicode.Scalar? {
        guard index < bytes.count else { return nil }
        let byte = bytes[index]
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return unicodeEscape()
        default: return nil
        }
    }

    private mutating func unicodeEscape() -> Unicode.Scalar? {
        guard let unit = hexadecimal() else { return nil }
        guard (0xd800..<0xdc00).contains(unit) else { return Unicode.Scalar(unit) ?? "\u{fffd}" }
        let start = index
        guard word("\\u") != nil, let low = hexadecimal(), (0xdc00..<0xe000).contains(low) else {
            index = start
            return "\u{fffd}"
        }
        return Unicode.Scalar(0x10000 + (unit - 0xd800) << 10 + (low - 0xdc00))
    }

    private mutating func hexadecimal() -> UInt32? {
        guard index + 4 <= bytes.count else { return nil }
        defer { index += 4 }
        return bytes[index..<(index + 4)].reduce(0 as UInt32?) { value, byte in
            guard let value, let digit = Grammar.hexValue(byte) else { return nil }
            return value << 4 | UInt32(digit)
        }
    }

    private mutating func number() -> LogValue? {
        let start = index
        while index < bytes.count, Self.isNumberByte(bytes[index]) { index += 1 }
        guard let number = Double(String(decoding: bytes[start..<index], as: UTF8.self)) else {
            return nil
        }
        return .number(number)
    }

    private static func isNumberByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"),
            UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"):
            true
        default: false
        }
    }

    private mutating func word(_ word: String) -> Void? {
        guard bytes[index...].starts(with: word.utf8) else { return nil }
        index += word.utf8.count
        return ()
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skipSpace()
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    private mutating func skipSpace() {
        while index < bytes.count, [0x20, 0x09, 0x0a, 0x0d].contains(bytes[index]) { index += 1 }
    }
}
