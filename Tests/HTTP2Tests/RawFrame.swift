import NetproxyHTTP2

/// Encodes raw frames, including invalid ones.
enum RawFrame {
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    static let settings = frame(4, 0, 0)

    static func frame(_ type: UInt8, _ flags: UInt8, _ stream: Int, _ payload: [UInt8] = [])
        -> [UInt8]
    {
        number(payload.count, 3) + [type, flags] + number(stream, 4) + payload
    }

    static func number(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(value >> (8 * $0) & 255) }
    }

    /// Returns a literal field without indexing.
    static func field(_ name: String, _ value: String) -> [UInt8] {
        [0] + text(name) + text(value)
    }

    private static func text(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
        var length = [UInt8(127)]
        var rest = bytes.count - 127
        while rest >= 128 {
            length.append(UInt8(rest & 127 | 128))
            rest >>= 7
        }
        return length + [UInt8(rest)] + bytes
    }

    static func block(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { field($0.0, $0.1) }
    }

    /// Returns a HEADERS frame with the complete field block.
    static func head(_ stream: Int, _ fields: [(String, String)], ends: Bool) -> [UInt8] {
        frame(1, ends ? 5 : 4, stream, block(fields))
    }

    static func data(_ stream: Int, _ text: String, ends: Bool) -> [UInt8] {
        frame(0, ends ? 1 : 0, stream, Array(text.utf8))
    }
}
