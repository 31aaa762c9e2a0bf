import NetproxyHTTPMessage

/// The extensions after a chunk size, validated byte by byte (RFC 9112 §7.1.1) and dropped.
///
/// They have no use, but a malformed extension could hide a chunk from another parser.
struct ChunkExtension: Sendable {
    private enum Position {
        case nameStart, name, nameEnd, valueStart, token, quoted, escaped, quoteEnd, valueEnd
    }

    private var place = Position.nameStart

    /// Whether the line may end here.
    var isComplete: Bool { place == .name || place == .token || place == .quoteEnd }

    /// Processes the next byte; the first byte is the one after the semicolon.
    mutating func step(_ byte: UInt8) throws(HTTP1Error) {
        guard let next = next(byte) else { throw .malformedChunkExtension }
        place = next
    }

    private func next(_ byte: UInt8) -> Position? {
        let isSpace = Grammar.isWhitespace(byte)
        let isToken = Grammar.isTokenByte(byte)
        let isSemicolon = byte == UInt8(ascii: ";")
        let isEqualsSign = byte == UInt8(ascii: "=")
        switch place {
        case .nameStart: return isSpace ? .nameStart : isToken ? .name : nil
        case .name where isToken: return .name
        case .name, .nameEnd:
            return isSpace ? .nameEnd : isSemicolon ? .nameStart : isEqualsSign ? .valueStart : nil
        case .valueStart:
            if byte == UInt8(ascii: "\"") { return .quoted }
            return isSpace ? .valueStart : isToken ? .token : nil
        case .token where isToken: return .token
        case .token, .quoteEnd, .valueEnd:
            return isSpace ? .valueEnd : isSemicolon ? .nameStart : nil
        case .quoted:
            if byte == UInt8(ascii: "\"") { return .quoteEnd }
            if byte == UInt8(ascii: "\\") { return .escaped }
            return Grammar.isFieldValueByte(byte) ? .quoted : nil
        case .escaped: return Grammar.isFieldValueByte(byte) ? .quoted : nil
        }
    }
}
