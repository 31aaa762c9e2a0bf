import NetproxyBytes
import NetproxyHTTPMessage

/// A decoder for the chunked transfer coding (RFC 9112 §7.1).
///
/// It processes the framing byte by byte, so that no byte is examined twice and no line has to fit into a
/// buffer.
struct ChunkedDecoder: Sendable {
    private enum Position {
        case size, sizeLineFeed, data, dataCarriageReturn, dataLineFeed, trailers
        case extensions
    }

    private let extensionLimit: Int
    private let extensionTotalLimit: Int
    private var place = Position.size
    private var digits = 0
    private var rest = 0
    private var chunkExtension = ChunkExtension()
    private var extensionSize = 0
    private var extensionTotal = 0
    private var lines: LineScanner
    private(set) var trailers: HTTPHeaders?

    init(limits: HTTP1Limits) {
        extensionLimit = limits.chunkExtensionSize
        extensionTotalLimit = limits.chunkExtensionTotal
        lines = LineScanner(.none, limits: limits)
    }

    mutating func next(_ bytes: Span<UInt8>) throws(HTTP1Error) -> BodyDecoder.Event {
        var index = 0
        while place != .trailers, index < bytes.count {
            if place == .data {
                let count = min(rest, bytes.count - index)
                rest -= count
                if rest == 0 { place = .dataCarriageReturn }
                return .data(skip: index, count: count)
            }
            try step(bytes[index])
            index += 1
        }
        guard place == .trailers else { return .needMore(consumed: index) }
        let section = bytes.extracting(index..<bytes.count)
        guard let length = try lines.scan(section) else { return .needMore(consumed: index) }
        trailers = try TrailerSection.fields(of: section.extracting(0..<length), lines)
        return .end(consumed: index + length)
    }

    private mutating func step(_ byte: UInt8) throws(HTTP1Error) {
        switch place {
        case .size: try stepSize(byte)
        case .extensions: try stepExtension(byte)
        case .sizeLineFeed:
            guard byte == 0x0A else { throw .malformedChunkSize }
            place = rest == 0 ? .trailers : .data
        case .dataCarriageReturn:
            guard byte == 0x0D else { throw .malformedChunkEnd }
            place = .dataLineFeed
        case .dataLineFeed:
            guard byte == 0x0A else { throw .malformedChunkEnd }
            (place, digits, extensionSize) = (.size, 0, 0)
        case .data, .trailers: preconditionFailure("not a place of single bytes")
        }
    }

    private mutating func stepSize(_ byte: UInt8) throws(HTTP1Error) {
        if let digit = Grammar.hexValue(byte) {
            // Fifteen digits fit in a signed word; in tinyproxy's CVE-2026-3945 the size did not. Leading
            // zeros are ignored, but at most twenty digits are read, as in h11.
            guard digits < 20, rest < 1 << 56 else { throw .malformedChunkSize }
            rest = rest << 4 | Int(digit)
            digits += 1
            return
        }
        guard digits > 0 else { throw .malformedChunkSize }
        switch byte {
        case 0x0D: place = .sizeLineFeed
        case UInt8(ascii: ";"): (place, chunkExtension) = (.extensions, ChunkExtension())
        default: throw .malformedChunkSize
        }
    }

    private mutating func stepExtension(_ byte: UInt8) throws(HTTP1Error) {
        if byte == 0x0D, chunkExtension.isComplete {
            place = .sizeLineFeed
            return
        }
        try chunkExtension.step(byte)
        extensionSize += 1
        extensionTotal += 1
        guard extensionSize <= extensionLimit,
            extensionTotal <= extensionTotalLimit
        else { throw .chunkExtensionTooLarge }
    }
}
