import NetproxyBytes
import NetproxyHTTPMessage

/// Finds the lines of a section as its bytes arrive, and refuses every control byte immediately.
///
/// It makes one pass: each call continues at the position where the previous one stopped. Scanned bytes
/// contain no control byte except HTAB and the CRLF of each line, so later parsers need not check for them.
struct LineScanner: Sendable {
    /// The line before the field lines.
    enum Opening {
        case requestLine, statusLine, none
    }

    /// The offset of the first line: 2 after the empty line that may precede a request.
    private(set) var start = 0
    /// The offset of the CR of each line.
    private(set) var lineEnds: [Int] = []
    /// The total number of examined bytes, for the test that counts them.
    private(set) var examined = 0
    /// Whether a byte of the first line has arrived.
    var hasBegun: Bool { position > start }
    private let opening: Opening
    /// Copies of the limits that the scanner needs: every busy connection has a scanner.
    private let fieldLimit: Int
    private let sectionLimit: Int
    private let firstLineLimit: Int
    private var position = 0
    /// The offset of the current line.
    private var lineStart = 0
    /// The maximum length of the section up to the end of the current line.
    private var limit: Int

    init(_ opening: Opening, limits: HTTP1Limits) {
        self.opening = opening
        fieldLimit = limits.fieldCount
        sectionLimit = limits.sectionSize
        firstLineLimit =
            opening == .requestLine ? limits.requestLineSize : limits.sectionSize
        limit = firstLineLimit
    }

    /// Returns the length of the section with its final empty line; `nil` if the section is not complete.
    ///
    /// Every call receives the same bytes again, followed by more.
    mutating func scan(_ bytes: Span<UInt8>) throws(HTTP1Error) -> Int? {
        while true {
            let bound = min(limit, bytes.count)
            let found = bytes.firstControl(in: min(position, bound)..<bound)
            examined += found - position
            position = found
            guard found < bound else {
                if found == limit { throw tooLong }
                return nil
            }
            switch bytes[found] {
            case 0x09: position = found + 1
            case 0x0D:
                guard found + 2 <= limit else { throw tooLong }
                guard found + 1 < bytes.count else { return nil }
                guard bytes[found + 1] == 0x0A else { throw .bareCarriageReturn }
                position = found + 2
                if try endLine(at: found) { return position }
            case 0x0A: throw .bareLineFeed
            default: throw .controlByte
            }
        }
    }

    /// Prepares for the next section.
    mutating func reset() {
        (start, position, lineStart) = (0, 0, 0)
        limit = firstLineLimit
        lineEnds.removeAll(keepingCapacity: true)
    }

    /// Records a line; returns `true` for the empty line that ends the section.
    private mutating func endLine(at end: Int) throws(HTTP1Error) -> Bool {
        guard end == lineStart else {
            lineEnds.append(end)
            lineStart = end + 2
            limit = sectionLimit
            let fields = opening == .none ? lineEnds.count : lineEnds.count - 1
            guard fields <= fieldLimit else { throw .tooManyFields }
            return false
        }
        guard lineEnds.isEmpty else { return true }
        switch opening {
        case .none: return true
        case .statusLine: throw .malformedStatusLine
        case .requestLine:
            // RFC 9112 §2.2: one empty line may precede a request, left over from the previous request's
            // content. No client sends two.
            guard start == 0 else { throw .malformedRequestLine }
            start = end + 2
            lineStart = start
            return false
        }
    }

    private var tooLong: HTTP1Error {
        lineEnds.isEmpty && opening == .requestLine ? .targetTooLong : .sectionTooLarge
    }
}
