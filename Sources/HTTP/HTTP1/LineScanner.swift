import NetproxyBytes
import NetproxyHTTPMessage

/// Finds the lines of a section while its bytes arrive, and refuses every control byte at once.
///
/// One pass: where the last call stopped, the next one goes on. What passes holds no control byte
/// but HTAB and the CRLF of its lines, so the parsers after it need not look for any.
struct LineScanner: Sendable {
    /// What precedes the field lines.
    enum Opening {
        case requestLine, statusLine, none
    }

    /// Where the first line starts: 2 after the empty line that a request may begin with.
    private(set) var start = 0
    /// The position of each line's CR.
    private(set) var lineEnds: [Int] = []
    /// How many bytes were looked at altogether; for the test that counts them.
    private(set) var examined = 0
    /// Whether a byte of the first line was seen.
    var hasBegun: Bool { position > start }
    private let opening: Opening
    /// Of the limits only what is looked at here: every connection at work has a scanner.
    private let fieldLimit: Int
    private let sectionLimit: Int
    private let firstLineLimit: Int
    private var position = 0
    /// Where the present line starts.
    private var lineStart = 0
    /// How long the section may be up to the end of the present line.
    private var limit: Int

    init(_ opening: Opening, limits: HTTP1Limits) {
        self.opening = opening
        fieldLimit = limits.fieldCount
        sectionLimit = limits.sectionSize
        firstLineLimit =
            opening == .requestLine ? limits.requestLineSize : limits.sectionSize
        limit = firstLineLimit
    }

    /// The length of the section with its final empty line, or nil where it is not complete.
    ///
    /// Every call gets the same bytes again, and more after them.
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

    /// Gets ready for the next section.
    mutating func reset() {
        (start, position, lineStart) = (0, 0, 0)
        limit = firstLineLimit
        lineEnds.removeAll(keepingCapacity: true)
    }

    /// Takes note of a line; true for the empty one that ends the section.
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
            // RFC 9112 §2.2: one empty line may precede a request, left over from the
            // content of the one before. No client sends two.
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
