/// Content codings without compression, for tests of decoders.
package enum StoredCoding {
    /// Returns content in the coding gzip (RFC 1952).
    package static func gzip(_ content: [UInt8]) -> [UInt8] {
        [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + deflate(content)
            + bytes(of: checksum(of: content)) + bytes(of: UInt32(content.count))
    }

    /// Returns content in the coding gzip.
    package static func gzip(_ text: String) -> [UInt8] { gzip(Array(text.utf8)) }

    /// Returns content in the coding deflate, without the header of RFC 1950.
    package static func deflate(_ content: [UInt8]) -> [UInt8] {
        precondition(content.count < 1 << 16)
        let length = UInt16(content.count)
        return [1] + [length, ~length].flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] } + content
    }

    private static func checksum(of content: [UInt8]) -> UInt32 {
        var sum = UInt32.max
        for byte in content {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
        return ~sum
    }

    private static func bytes(of number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}
