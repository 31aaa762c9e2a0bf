import NetproxyBytes

/// Replaces secrets in content that arrives in pieces; a secret may be split between them.
struct EchoFilter: Sendable {
    /// The position of a piece.
    enum Position {
        case more, last
    }

    /// The maximum length of a beginning of a secret that is passed on at the end of a piece, in bytes.
    ///
    /// A receiver may wait for the end of a piece before it sends anything, and pieces often end like the first
    /// bytes of a secret. A longer beginning is rare and waits for the next piece.
    private static let shortestKept = 4

    private let searches: [SecretSearch]
    /// The bytes with which an occurrence may begin.
    private var kept: [UInt8] = []
    /// The number of kept bytes that have been passed on.
    private var passedCount = 0
    /// Whether any piece contained a secret.
    private(set) var hasFound = false

    init(_ searches: [SecretSearch]) {
        self.searches = searches
    }

    /// Returns the part of the content that is complete with this piece; `nil` if that is empty.
    mutating func filter(_ piece: ByteSlice, _ position: Position) -> ByteSlice? {
        guard !kept.isEmpty else {
            switch first(in: piece.span, from: 0) {
            case .nothing: return piece.isEmpty ? nil : piece
            case .open(let start) where position == .more:
                // The usual case of an open end costs no copy.
                keep(piece.span, from: start, passed: 0)
                let end = start + passedCount
                return end == 0 ? nil : piece.prefix(end)
            case .open, .found: return replaced(in: piece.array, position)
            }
        }
        var source = kept
        source.append(piece.span)
        return replaced(in: source, position)
    }

    /// Returns a content without secrets, which begins with the kept bytes.
    private mutating func replaced(in source: [UInt8], _ position: Position) -> ByteSlice? {
        // The number of bytes that the receiver already has.
        let sent = passedCount
        (kept, passedCount) = ([], 0)
        var shown: [UInt8] = []
        func show(_ end: Int, from start: Int) {
            if max(start, sent) < end { shown += source[max(start, sent)..<end] }
        }
        var (start, next) = (0, 0)
        search: while start < source.count {
            switch first(in: source.span, from: next) {
            case .found(let occurrence):
                hasFound = true
                show(occurrence.range.lowerBound, from: start)
                shown += SentSecrets.mark
                start = occurrence.range.upperBound
                next = start
            case .open(let open) where position == .more:
                keep(source.span, from: open, passed: max(0, sent - open))
                show(open + passedCount, from: start)
                break search
            case .open(let open): next = open + 1
            case .nothing:
                show(source.count, from: start)
                break search
            }
        }
        return shown.isEmpty ? nil : ByteSlice(shown)
    }

    private mutating func keep(_ source: Span<UInt8>, from start: Int, passed: Int) {
        kept.append(source.extracting(start..<source.count))
        passedCount = kept.count < EchoFilter.shortestKept ? kept.count : passed
    }

    /// Returns the first occurrence of any secret.
    private func first(in source: Span<UInt8>, from start: Int) -> SecretSearch.Result {
        var earliest = SecretSearch.Result.nothing
        var limit = Int.max
        for search in searches {
            let result = search.first(in: source, from: start)
            guard let position = result.position, position < limit else { continue }
            (earliest, limit) = (result, position)
        }
        return earliest
    }
}

extension SecretSearch.Result {
    /// The position of an occurrence, or of its beginning.
    fileprivate var position: Int? {
        switch self {
        case .found(let occurrence): occurrence.range.lowerBound
        case .open(let position): position
        case .nothing: nil
        }
    }
}
