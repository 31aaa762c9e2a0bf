/// The versions that are spoken.
package enum HTTP1Version: Sendable, Equatable {
    case http10, http11

    /// Reads exactly `HTTP/1.0` or `HTTP/1.1`; `malformed` is thrown for what is no version at all.
    init(_ bytes: Span<UInt8>, else malformed: HTTP1Error) throws(HTTP1Error) {
        let name: InlineArray<5, UInt8> = [0x48, 0x54, 0x54, 0x50, 0x2F]
        guard bytes.count == 8, bytes[6] == UInt8(ascii: ".") else { throw malformed }
        for index in 0..<5 where bytes[index] != name[index] { throw malformed }
        guard bytes[5] &- 0x30 < 10, bytes[7] &- 0x30 < 10 else { throw malformed }
        guard bytes[5] == UInt8(ascii: "1"), bytes[7] <= UInt8(ascii: "1") else {
            throw .unsupportedVersion
        }
        self = bytes[7] == UInt8(ascii: "1") ? .http11 : .http10
    }
}
