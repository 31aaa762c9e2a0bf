import NetproxyBytes
import NetproxyHTTPMessage

/// The indexed field lines of one section, and the fields that frame and route the message.
struct FieldSection {
    private(set) var headers: HTTPHeaders
    private(set) var contentLength: Int?
    private(set) var hosts = 0
    private(set) var connection = ConnectionOptions()
    private var host = 0..<0
    private var transferEncoding: Range<Int>?
    private var expectation: Range<Int>?
    private var expectations = 0

    /// Indexes the lines found by a `LineScanner` in `head`, beginning with the line at `first`.
    ///
    /// `spare` is the space for additional fields, in bytes.
    init(
        _ head: Span<UInt8>,
        lines: LineScanner,
        from first: Int,
        spare: Int
    ) throws(HTTP1Error) {
        let ends = lines.lineEnds
        headers = HTTPHeaders(head: head, spare: spare, lines: ends.count)
        var start = first == 0 ? lines.start : ends[first - 1] + 2
        for index in first..<ends.count {
            try parseLine(start..<ends[index], in: head)
            start = ends[index] + 2
        }
    }

    /// Whether the section has a Transfer-Encoding.
    var hasTransferEncoding: Bool { transferEncoding != nil }

    /// Removes the Host, which is not a host.
    mutating func dropHost() { headers.remove(HTTPFieldName.host) }

    /// Returns the bytes of the first Host.
    @_lifetime(copy head)
    func host(in head: Span<UInt8>) -> Span<UInt8> { head.extracting(host) }

    /// Whether the sender waits for 100 (Continue).
    func expectsContinue(in head: Span<UInt8>) throws(HTTP1Error) -> Bool {
        guard let expectation else { return false }
        guard expectations == 1, head.equals("100-continue", in: expectation) else {
            throw .unsupportedExpectation
        }
        return true
    }

    /// Returns the value of Transfer-Encoding, if present.
    @_lifetime(copy head)
    func transferEncoding(in head: Span<UInt8>) -> Span<UInt8>? {
        guard let transferEncoding else { return nil }
        return head.extracting(transferEncoding)
    }

    private mutating func parseLine(
        _ line: Range<Int>,
        in head: Span<UInt8>
    ) throws(HTTP1Error) {
        let text = head.extracting(line)
        guard let length = text.firstIndex(of: UInt8(ascii: ":"), from: 0), length > 0 else {
            throw FieldSection.nameFault(text)
        }
        // The index stores the length of a name in 16 bits.
        guard length <= Int(UInt16.max) else {
            throw FieldSection.tokenLength(text).length == length
                ? .sectionTooLarge : FieldSection.nameFault(text)
        }
        let colon = line.lowerBound + length
        var start = colon + 1
        var end = line.upperBound
        while start < end, Grammar.isWhitespace(head[start]) { start += 1 }
        while end > start, Grammar.isWhitespace(head[end - 1]) { end -= 1 }
        let isVerbatim = start == colon + 2 && head[colon + 1] == 0x20 && end == line.upperBound
        let known = headers.append(
            name: line.lowerBound..<colon,
            value: start..<end,
            isVerbatim ? .verbatim : .loose
        )
        if let known {
            try notice(known, start..<end, in: head)
        } else {
            // A name in the table is a token: the scanner has already refused the bytes that the
            // case-insensitive comparison would confuse with others.
            let name = FieldSection.tokenLength(text)
            guard name.length == length else { throw FieldSection.nameFault(text) }
            if name.isUnusual { headers.noteUnusualName() }
            guard !FieldSection.imitatesFraming(text.extracting(first: length)) else {
                throw .malformedFieldName
            }
        }
    }

    /// Whether an origin could treat the name as a framing field, because it contains `_` for `-` as in CGI.
    ///
    /// A name with another byte at this position is not forwarded (`HopByHop`).
    private static func imitatesFraming(_ name: Span<UInt8>) -> Bool {
        // The length is compared first, because all names outside the table reach this function.
        guard name.count == 14 || name.count == 17,
            name.firstIndex(of: UInt8(ascii: "_"), from: 0) != nil
        else { return false }
        return switch name.count {
        case 14: HTTPFieldName.contentLength.isImitated(by: name)
        case 17: HTTPFieldName.transferEncoding.isImitated(by: name)
        default: false
        }
    }

    private mutating func notice(
        _ field: KnownField,
        _ value: Range<Int>,
        in head: Span<UInt8>
    ) throws(HTTP1Error) {
        switch field {
        case .contentLength:
            guard contentLength == nil else { throw .repeatedContentLength }
            contentLength = try FieldSection.length(head.extracting(value))
        case .transferEncoding:
            guard transferEncoding == nil else { throw .repeatedTransferEncoding }
            transferEncoding = value
        case .host:
            if hosts == 0 { host = value }
            hosts += 1
        case .connection:
            try connection.add(head.extracting(value))
        case .expect:
            expectation = value
            expectations += 1
        default: break
        }
    }

    /// Parses 1 to 18 digits, which fit in an `Int`: no sign, no list, no white space (RFC 9110 §8.6).
    private static func length(_ digits: Span<UInt8>) throws(HTTP1Error) -> Int {
        guard (1...18).contains(digits.count) else { throw .malformedContentLength }
        var value = 0
        for index in digits.indices {
            guard Grammar.isDigit(digits[index]) else { throw .malformedContentLength }
            value = value &* 10 &+ Int(digits[index] & 15)
        }
        return value
    }

    private static func nameFault(_ line: Span<UInt8>) -> HTTP1Error {
        let length = tokenLength(line).length
        guard length < line.count, Grammar.isWhitespace(line[length]) else {
            return .malformedFieldName
        }
        return length == 0 ? .foldedLine : .spaceBeforeColon
    }

    /// Returns the number of token bytes at the start of a line, and whether one of them is not a letter,
    /// digit or hyphen.
    ///
    /// A name with such a byte can look like another.
    private static func tokenLength(_ line: Span<UInt8>) -> (length: Int, isUnusual: Bool) {
        var length = 0
        var isUnusual = false
        while length < line.count {
            if !Grammar.isPlainNameByte(line[length]) {
                guard Grammar.isTokenByte(line[length]) else { break }
                isUnusual = true
            }
            length += 1
        }
        return (length, isUnusual)
    }
}
