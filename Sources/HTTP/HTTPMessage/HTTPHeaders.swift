package import NetproxyBytes

/// A field section (RFC 9110 §6.3): field lines in order.
///
/// It contains the bytes of the head and an index of the lines; a `String` is created only on demand. Every
/// line in `arena` ends with CRLF, so encoding copies consecutive unmodified lines in one step.
public struct HTTPHeaders: Sendable {
    /// The tag of a line whose name is not a known field.
    static let unknown: UInt8 = 0xFF
    /// The tag of a line without a value, which represents a field that cannot be sent.
    static let unfit: UInt8 = 0xFE

    /// The lines; the tag is the raw value of the `KnownField`.
    var arena: LineArena
    /// One bit for each known field that is present, so that most lookups need no search.
    private var present: UInt64 = 0
    /// One bit for each name length of the unknown fields added so far.
    ///
    /// With it, most lookups of such a name need no search either.
    private var otherLengths: UInt64 = 0
    /// Whether a field that is not a known field was ever added.
    private var hasOthers: Bool { otherLengths != 0 }
    /// Whether such a field has a name that can look like another; see `looksLike`.
    package private(set) var hasUnusualNames = false
    /// Whether a field that cannot be sent was ever added.
    package private(set) var hasUnfitFields = false

    /// The known fields that are present.
    package var knownFields: KnownFieldSet { KnownFieldSet(rawValue: present) }

    /// Creates an empty field section.
    public init() {
        arena = LineArena()
    }

    /// Creates a section over the bytes of a head; `append(name:value:…)` then indexes its lines.
    ///
    /// - Parameters:
    ///   - head: the bytes.
    ///   - spare: space for fields that are added later, in bytes.
    ///   - lines: the expected number of lines.
    package init(head: Span<UInt8>, spare: Int, lines: Int = 16) {
        arena = LineArena(head, spareBytes: spare, lines: lines + 8)
    }

    /// The number of field lines.
    public var count: Int { arena.count }
    /// Whether there are no field lines.
    public var isEmpty: Bool { arena.count == 0 }

    /// Whether the field is present.
    @inline(__always)
    public func contains(_ name: HTTPFieldName) -> Bool {
        if let known = name.known { return contains(known) }
        return hasOther(ofLengths: HTTPHeaders.lengthBit(name)) && firstIndex(of: name) != nil
    }

    /// Whether the field is present.
    @inline(__always)
    package func contains(_ known: KnownField) -> Bool {
        present & (1 << UInt64(known.rawValue)) != 0
    }

    /// The value of the first line with this name.
    ///
    /// Setting it replaces all lines with this name; a request with an invalid value is refused when it is
    /// sent, with the name of the field.
    public subscript(_ name: HTTPFieldName) -> String? {
        get {
            guard let index = firstIndex(of: name) else { return nil }
            let line = arena.lines[index]
            return arena.bytes(of: line).string(in: line.value)
        }
        set {
            if let newValue {
                set(HTTPField(checking: name, newValue))
            } else {
                remove(name)
            }
        }
    }

    /// Returns the values of all lines with this name, in order.
    public func values(of name: HTTPFieldName) -> [String] {
        let lines = arena.lines
        var values: [String] = []
        for index in lines.indices {
            let bytes = arena.bytes(of: lines[index])
            if HTTPHeaders.matches(lines[index], name, in: bytes) {
                values.append(bytes.string(in: lines[index].value))
            }
        }
        return values
    }

    /// Returns the elements of a list field (RFC 9110 §5.6.1) without quoted strings.
    ///
    /// The elements of all lines are trimmed, and empty ones are omitted.
    package func elements(of name: HTTPFieldName) -> [Substring] {
        values(of: name).flatMap { value in
            value.split(separator: ",").compactMap { element in
                let start = element.drop { $0 == " " || $0 == "\t" }
                guard let last = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else {
                    return nil
                }
                return start[...last]
            }
        }
    }

    /// Adds a line at the end.
    public mutating func append(_ field: HTTPField) {
        append(field.name, validated: field.value)
    }

    /// Adds the lines of another section at the end.
    package mutating func append(_ other: HTTPHeaders) {
        arena.append(other.arena)
        noteAll(of: other)
    }

    /// Adds the lines of another section at the end, and shares their bytes if possible.
    ///
    /// Use it for lines that many messages have in common.
    package mutating func attach(_ other: HTTPHeaders) {
        arena.attach(other.arena)
        noteAll(of: other)
    }

    @inline(__always)
    private mutating func noteAll(of other: HTTPHeaders) {
        present |= other.present
        otherLengths |= other.otherLengths
        hasUnusualNames = hasUnusualNames || other.hasUnusualNames
        hasUnfitFields = hasUnfitFields || other.hasUnfitFields
    }

    /// Whether the sections can have a field in common, in any spelling.
    ///
    /// Also true if both contain unknown fields with names of the same length.
    package func mayOverlap(_ other: HTTPHeaders) -> Bool {
        present & other.present != 0 || otherLengths & other.otherLengths != 0
            || hasUnusualNames || other.hasUnusualNames
    }

    /// Replaces all lines with this name by one.
    public mutating func set(_ field: HTTPField) {
        remove(field.name)
        append(field)
    }

    /// Removes all lines with this name.
    public mutating func remove(_ name: HTTPFieldName) {
        if let known = name.known {
            remove(known)
        } else if hasOther(ofLengths: HTTPHeaders.lengthBit(name)) {
            arena.removeLines { HTTPHeaders.matches($0, name, in: $1) }
        }
    }

    /// Removes all lines with this name.
    package mutating func remove(_ known: KnownField) {
        guard contains(known) else { return }
        arena.removeLines(tagged: 1 << UInt64(known.rawValue))
        present &= ~(1 << UInt64(known.rawValue))
    }

    /// Removes all lines with these names.
    package mutating func remove(_ known: KnownFieldSet) {
        guard !knownFields.isDisjoint(with: known) else { return }
        arena.removeLines(tagged: known.rawValue)
        present &= ~known.rawValue
    }

    /// Removes all lines with these names, in one pass.
    package mutating func remove(_ names: Set<HTTPFieldName>) {
        guard !names.isEmpty else { return }
        var known: UInt64 = 0
        for name in names { if let field = name.known { known |= 1 << UInt64(field.rawValue) } }
        remove(KnownFieldSet(rawValue: known))
        guard hasOthers else { return }
        arena.removeLines { line, bytes in
            line.tag == HTTPHeaders.unknown
                && HTTPFieldName(bytes.string(in: line.name)).map(names.contains) == true
        }
    }

    /// Removes lines by name; lines of known fields stay.
    mutating func removeOthers(where isRemoved: (Span<UInt8>) -> Bool) {
        guard hasOthers else { return }
        arena.removeLines { line, bytes in
            line.tag == HTTPHeaders.unknown && isRemoved(bytes.extracting(line.name))
        }
    }

    /// Returns the names, in order, of the lines that are not known fields and satisfy a condition.
    package func others(where matches: (Span<UInt8>) -> Bool) -> [HTTPFieldName] {
        guard hasOthers else { return [] }
        var names: [HTTPFieldName] = []
        let lines = arena.lines
        for index in lines.indices where lines[index].tag == HTTPHeaders.unknown {
            let bytes = arena.bytes(of: lines[index])
            guard matches(bytes.extracting(lines[index].name)) else { continue }
            names.append(HTTPFieldName(stringLiteral: bytes.string(in: lines[index].name)))
        }
        return names
    }

    /// Whether the name of a line that is not a known field satisfies a condition.
    package func containsOther(where matches: (Span<UInt8>) -> Bool) -> Bool {
        guard hasOthers else { return false }
        let lines = arena.lines
        for index in lines.indices where lines[index].tag == HTTPHeaders.unknown {
            if matches(arena.bytes(of: lines[index]).extracting(lines[index].name)) { return true }
        }
        return false
    }

    /// Whether an unknown field can have a name of one of these lengths, given as bits.
    @inline(__always)
    package func hasOther(ofLengths lengths: UInt64) -> Bool { otherLengths & lengths != 0 }

    /// Returns the bit for the length of a name; lengths of 63 and more share one.
    private static func lengthBit(_ length: Int) -> UInt64 { 1 << UInt64(Swift.min(length, 63)) }

    private static func lengthBit(_ name: HTTPFieldName) -> UInt64 {
        lengthBit(name.text.utf8.count)
    }

    private func firstIndex(of name: HTTPFieldName) -> Int? {
        if let known = name.known {
            guard contains(known) else { return nil }
        } else {
            guard hasOther(ofLengths: HTTPHeaders.lengthBit(name)) else { return nil }
        }
        let lines = arena.lines
        for index in lines.indices {
            let bytes = arena.bytes(of: lines[index])
            if HTTPHeaders.matches(lines[index], name, in: bytes) { return index }
        }
        return nil
    }

    private static func matches(
        _ line: LineArena.Line,
        _ name: HTTPFieldName,
        in bytes: Span<UInt8>
    ) -> Bool {
        if let known = name.known { return line.tag == known.rawValue }
        guard line.tag == unknown, Int(line.nameCount) == name.text.utf8.count else {
            return false
        }
        var index = Int(line.nameStart)
        for byte in name.text.utf8 {
            if Grammar.lowercased(byte) != Grammar.lowercased(bytes[index]) { return false }
            index += 1
        }
        return true
    }

    // MARK: - For the codec

    /// Indexes a line whose bytes are already in the head.
    ///
    /// If `isVerbatim` is true, the head contains exactly `name: value CRLF`. The caller reads the bytes of
    /// an unknown name and calls `noteUnusualName` if necessary.
    @inline(__always)
    package mutating func append(name: Range<Int>, value: Range<Int>, _ form: LineArena.Form)
        -> KnownField?
    {
        let known = KnownFieldTable.lookup(arena.bytes.extracting(name))
        arena.append(
            LineArena.Line(
                name: name,
                value: value,
                tag: known?.rawValue ?? HTTPHeaders.unknown,
                form: form
            )
        )
        if let known { note(known) } else { otherLengths |= HTTPHeaders.lengthBit(name.count) }
        return known
    }

    /// Adds a line with a valid value.
    package mutating func append(_ name: HTTPFieldName, validated value: String) {
        guard !name.isUnfit else { return appendUnfit(name) }
        arena.append(
            name: name.text.utf8.span,
            value: value.utf8.span,
            tag: name.known?.rawValue ?? HTTPHeaders.unknown
        )
        if let known = name.known { note(known) } else { noteOther(name) }
    }

    @inline(never)
    private mutating func appendUnfit(_ name: HTTPFieldName) {
        arena.append(name: name.text.utf8.span, value: "".utf8.span, tag: HTTPHeaders.unfit)
        hasUnfitFields = true
    }

    /// The name of the first field that cannot be sent, even if the field was replaced later.
    package var unfitField: HTTPFieldName? {
        guard hasUnfitFields else { return nil }
        return first { $0.name.isUnfit }?.name
    }

    @inline(__always)
    private mutating func note(_ known: KnownField) {
        present |= 1 << UInt64(known.rawValue)
    }

    @inline(__always)
    private mutating func noteOther(_ name: HTTPFieldName) {
        otherLengths |= HTTPHeaders.lengthBit(name)
        if name.isUnusual { hasUnusualNames = true }
    }

    /// Records that the last added name has a byte other than letters, digits and hyphens.
    package mutating func noteUnusualName() { hasUnusualNames = true }

    /// Calls `body` with the value of each line of a known field as bytes, in order.
    @inline(__always)
    package func forEachValue(of known: KnownField, _ body: (Span<UInt8>) -> Void) {
        guard contains(known) else { return }
        let lines = arena.lines
        for index in lines.indices where lines[index].tag == known.rawValue {
            body(arena.bytes(of: lines[index]).extracting(lines[index].value))
        }
    }

    /// Whether a value of at least `length` bytes satisfies a condition.
    @inline(__always)
    package func containsValue(ofAtLeast length: Int, where matches: (Span<UInt8>) -> Bool) -> Bool
    {
        let lines = arena.lines
        for index in lines.indices where Int(lines[index].valueCount) >= length {
            let line = lines[index]
            if matches(arena.bytes(of: line).extracting(line.value)) { return true }
        }
        return false
    }

    /// Writes the lines, each with CRLF, without the empty line that ends the section.
    ///
    /// The caller writes the `omitted` fields itself, or not at all.
    package func encode(into output: OutputBuffer, omitting omitted: KnownFieldSet = .none) {
        guard !hasUnfitFields else { return encodeFit(into: output, omitting: omitted) }
        let (lines, bytes) = (arena.lines, arena.bytes)
        var run = 0..<0
        for index in lines.indices {
            let line = lines[index]
            if omitted.containsRaw(line.tag) { continue }
            switch line.form {
            case .verbatim:
                if line.name.lowerBound != run.upperBound {
                    output.append(bytes.extracting(run))
                    run = line.name.lowerBound..<line.name.lowerBound
                }
                run = run.lowerBound..<(line.value.upperBound + 2)
            case .attached:
                output.append(bytes.extracting(run))
                run = 0..<0
                let end = line.value.upperBound + 2
                output.append(arena.bytes(of: line).extracting(line.name.lowerBound..<end))
            case .loose:
                output.append(bytes.extracting(run))
                run = 0..<0
                output.append(bytes.extracting(line.name))
                output.append(": ")
                output.append(bytes.extracting(line.value))
                output.append("\r\n")
            }
        }
        output.append(bytes.extracting(run))
    }

    /// Writes the lines without those that cannot be sent.
    ///
    /// A client refuses such a message earlier; here it can only be a response that a program creates itself.
    private func encodeFit(into output: OutputBuffer, omitting omitted: KnownFieldSet) {
        var fit = self
        fit.arena.removeLines { line, _ in line.tag == HTTPHeaders.unfit }
        fit.hasUnfitFields = false
        fit.encode(into: output, omitting: omitted)
    }
}

extension HTTPHeaders: Sequence {
    /// The field lines, in order.
    public func makeIterator() -> some IteratorProtocol<HTTPField> {
        (0..<arena.count).lazy.map { index in
            let line = arena.lines[index]
            let bytes = arena.bytes(of: line)
            let name = bytes.string(in: line.name)
            let isUnfit = line.tag == HTTPHeaders.unfit
            return HTTPField(
                validated: isUnfit
                    ? HTTPFieldName(unfit: name) : HTTPFieldName(stringLiteral: name),
                bytes.string(in: line.value)
            )
        }.makeIterator()
    }
}

extension HTTPHeaders: Equatable {
    /// Whether both have the same fields in the same order; names are compared ignoring case.
    public static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool {
        left.elementsEqual(right)
    }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    /// Creates a section; the values can come from any source.
    ///
    /// A request with an invalid field value (RFC 9110 §5.5) is refused when it is built or sent, with the
    /// name of the field. `init(validating:)` throws immediately.
    public init(dictionaryLiteral elements: (HTTPFieldName, String)...) {
        self.init()
        for (name, value) in elements { append(HTTPField(checking: name, value)) }
    }
}

extension HTTPHeaders {
    /// Creates a section from fields, in order; fields that cannot be sent are treated as in a literal.
    public init(_ fields: some Sequence<HTTPField>) {
        self.init()
        for field in fields { append(field) }
    }

    /// Creates a section from names and values of any source, sorted by name.
    ///
    /// Fields that cannot be sent are treated as in a literal.
    public init(_ fields: [String: String]) {
        self.init()
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            append(HTTPField(checking: HTTPFieldName(stringLiteral: name), value))
        }
    }
}

extension HTTPHeaders: CustomStringConvertible {
    /// The lines; the values of credential fields are redacted.
    public var description: String {
        map(\.description).joined(separator: "\n")
    }
}
