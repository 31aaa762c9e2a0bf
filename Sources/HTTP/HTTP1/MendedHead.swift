import NetproxyBytes
import NetproxyHTTPMessage

/// A response head after the repairs that a proxy may make; it is read and forwarded in this form.
///
/// Requests are never repaired. A folded line is joined with a space (RFC 9112 §5.2), white space before a
/// colon is removed (§5.1), and a repeated length is reduced to one (RFC 9110 §8.6). Ambiguous parts stay,
/// and are refused.
struct MendedHead {
    let bytes: [UInt8]
    /// The lines of `bytes`.
    let lines: LineScanner

    /// Repairs a head whose lines a scanner found.
    init(_ head: Span<UInt8>, lines found: LineScanner) throws(HTTP1Error) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(head.count)
        var length: [UInt8]?
        var index = 0
        while index < found.lineEnds.count {
            var line = MendedHead.line(index, of: head, found)
            index += 1
            // White space after the status line is not a fold; it hides a field from some readers.
            if index > 1 {
                while index < found.lineEnds.count {
                    let next = MendedHead.line(index, of: head, found)
                    guard let first = next.first, Grammar.isWhitespace(first) else { break }
                    line = MendedHead.trimmed(line[...]) + [0x20] + MendedHead.trimmed(next[...])
                    index += 1
                }
                line = MendedHead.withoutSpaceBeforeColon(line)
                if let own = MendedHead.repeatedLength(line) {
                    if length == own { continue }
                    length = own
                    line = Array("Content-Length: ".utf8) + own
                }
            }
            bytes += line + [0x0D, 0x0A]
        }
        bytes += [0x0D, 0x0A]
        var lines = found
        lines.reset()
        _ = try lines.scan(bytes.span)
        (self.bytes, self.lines) = (bytes, lines)
    }

    private static func line(_ index: Int, of head: Span<UInt8>, _ lines: LineScanner) -> [UInt8] {
        let start = index == 0 ? lines.start : lines.lineEnds[index - 1] + 2
        return head.extracting(start..<lines.lineEnds[index]).array
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var text = text
        while let first = text.first, Grammar.isWhitespace(first) { text.removeFirst() }
        while let last = text.last, Grammar.isWhitespace(last) { text.removeLast() }
        return Array(text)
    }

    private static func withoutSpaceBeforeColon(_ line: [UInt8]) -> [UInt8] {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), let first = line.first,
            !Grammar.isWhitespace(first)
        else { return line }
        return trimmed(line[..<colon]) + line[colon...]
    }

    /// Returns the length that a line contains, even if it is repeated; `nil` if the values differ.
    private static func repeatedLength(_ line: [UInt8]) -> [UInt8]? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
            Grammar.equalIgnoringCase(
                HTTPFieldName.contentLength.text.utf8.span,
                line.span.extracting(0..<colon)
            )
        else { return nil }
        let lengths = line[(colon + 1)...]
            .split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            .map { trimmed($0) }
        guard let first = lengths.first, lengths.allSatisfy({ $0 == first }) else { return nil }
        return first
    }
}
