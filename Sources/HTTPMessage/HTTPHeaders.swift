package import Bytes

/// A field section (RFC 9110 §6.3): field lines in their order, over the bytes they came in.
///
/// Bytes of the head and an index over them; a `String` is made only when somebody asks. Every line
/// in `arena` ends with CRLF, so encoding copies runs of untouched lines in one piece.
public struct HTTPHeaders: Sendable {
    struct Entry {
        var nameStart: UInt32
        var valueStart: UInt32
        var valueCount: UInt32
        var nameCount: UInt16
        /// Raw value of the `KnownField`, or `Entry.unknown`.
        var known: UInt8
        /// Whether the arena holds the line as `name: value CRLF`, which encoding can copy.
        var isVerbatim: Bool

        static let unknown: UInt8 = 0xFF
    }

    var arena: [UInt8]
    var entries: [Entry]
    /// One bit per known field that is present: most questions are answered without a search.
    private var present: UInt64 = 0

    /// The known fields that are present.
    package var knownFields: KnownFieldSet { KnownFieldSet(rawValue: present) }

    /// An empty field section.
    public init() {
        arena = []
        entries = []
    }

    /// Starts a section over the bytes of a head; `append(name:value:…)` then indexes its lines.
    package init(head: Span<UInt8>, spare: Int) {
        arena = []
        arena.reserveCapacity(head.count + spare)
        arena.append(head)
        entries = []
        entries.reserveCapacity(24)
    }

    /// How many field lines.
    public var count: Int { entries.count }
    /// Whether there is no field line.
    public var isEmpty: Bool { entries.isEmpty }

    /// Whether the field is there.
    @inline(__always)
    public func contains(_ name: HTTPFieldName) -> Bool {
        if let known = name.known { return contains(known) }
        return firstIndex(of: name) != nil
    }

    /// Whether the field is there.
    @inline(__always)
    package func contains(_ known: KnownField) -> Bool {
        present & (1 << UInt64(known.rawValue)) != 0
    }

    /// The value of the first line with this name.
    public subscript(_ name: HTTPFieldName) -> String? {
        firstIndex(of: name).map(value(at:))
    }

    /// The values of all lines with this name, in their order.
    public func values(of name: HTTPFieldName) -> [String] {
        entries.indices.filter { HTTPHeaders.matches(entries[$0], name, in: arena) }.map(value(at:))
    }

    /// How many lines have this name.
    package func count(of known: KnownField) -> Int {
        guard contains(known) else { return 0 }
        var found = 0
        for entry in entries where entry.known == known.rawValue { found += 1 }
        return found
    }

    /// Adds a line behind the others.
    public mutating func append(_ field: HTTPField) {
        append(field.name, validated: field.value)
    }

    /// Replaces all lines of this name by one.
    public mutating func set(_ field: HTTPField) {
        remove(field.name)
        append(field)
    }

    /// Removes all lines of this name.
    public mutating func remove(_ name: HTTPFieldName) {
        if let known = name.known {
            remove(known)
        } else {
            let text = arena
            entries.removeAll { HTTPHeaders.matches($0, name, in: text) }
        }
    }

    /// Removes all lines of this name.
    package mutating func remove(_ known: KnownField) {
        guard contains(known) else { return }
        entries.removeAll { $0.known == known.rawValue }
        present &= ~(1 << UInt64(known.rawValue))
    }

    /// Removes all lines of these names.
    package mutating func remove(_ known: KnownFieldSet) {
        guard !knownFields.isDisjoint(with: known) else { return }
        entries.removeAll { known.containsRaw($0.known) }
        present &= ~known.rawValue
    }

    /// Removes the lines that `isRemoved` names; it gets the known field, if it is one, and the name.
    package mutating func removeAll(where isRemoved: (KnownField?, Span<UInt8>) -> Bool) {
        var stillPresent: UInt64 = 0
        var kept = 0
        for index in entries.indices {
            let entry = entries[index]
            let known = KnownField(rawValue: entry.known)
            if isRemoved(known, arena.span.extracting(nameRange(entry))) { continue }
            if let known { stillPresent |= 1 << UInt64(known.rawValue) }
            if kept != index { entries[kept] = entry }
            kept += 1
        }
        entries.removeLast(entries.count - kept)
        present = stillPresent
    }

    /// The value of the line at a position.
    func value(at index: Int) -> String {
        arena.string(in: valueRange(entries[index]))
    }

    func valueRange(_ entry: Entry) -> Range<Int> {
        Int(entry.valueStart)..<Int(entry.valueStart + entry.valueCount)
    }

    func nameRange(_ entry: Entry) -> Range<Int> {
        Int(entry.nameStart)..<Int(entry.nameStart) + Int(entry.nameCount)
    }

    private func firstIndex(of name: HTTPFieldName) -> Int? {
        if let known = name.known, !contains(known) { return nil }
        return entries.firstIndex { HTTPHeaders.matches($0, name, in: arena) }
    }

    private static func matches(
        _ entry: Entry,
        _ name: HTTPFieldName,
        in arena: [UInt8]
    ) -> Bool {
        if let known = name.known { return entry.known == known.rawValue }
        guard entry.known == Entry.unknown, Int(entry.nameCount) == name.text.utf8.count else {
            return false
        }
        var index = Int(entry.nameStart)
        for byte in name.text.utf8 {
            if Grammar.lowercased(byte) != Grammar.lowercased(arena[index]) { return false }
            index += 1
        }
        return true
    }

    // MARK: - For the codec

    /// Indexes a line whose bytes stand in the head already.
    ///
    /// `isVerbatim` says that the head holds exactly `name: value CRLF`.
    @inline(__always)
    package mutating func append(name: Range<Int>, value: Range<Int>, isVerbatim: Bool)
        -> KnownField?
    {
        let known = KnownFieldTable.lookup(arena.span.extracting(name))
        entries.append(
            Entry(
                nameStart: UInt32(truncatingIfNeeded: name.lowerBound),
                valueStart: UInt32(truncatingIfNeeded: value.lowerBound),
                valueCount: UInt32(truncatingIfNeeded: value.count),
                nameCount: UInt16(truncatingIfNeeded: name.count),
                known: known?.rawValue ?? Entry.unknown,
                isVerbatim: isVerbatim
            )
        )
        if let known { present |= 1 << UInt64(known.rawValue) }
        return known
    }

    /// Adds a line whose value is known to be fit for the wire.
    package mutating func append(_ name: HTTPFieldName, validated value: String) {
        let nameStart = arena.count
        let needed = nameStart + name.text.utf8.count + value.utf8.count + 4
        if needed > arena.capacity { arena.reserveCapacity(Swift.max(needed, 2 * arena.capacity)) }
        arena.append(name.text.utf8.span)
        arena.append(0x3A)
        arena.append(0x20)
        let valueStart = arena.count
        arena.append(value.utf8.span)
        let valueEnd = arena.count
        arena.append(0x0D)
        arena.append(0x0A)
        entries.append(
            Entry(
                nameStart: UInt32(nameStart),
                valueStart: UInt32(valueStart),
                valueCount: UInt32(valueEnd - valueStart),
                nameCount: UInt16(valueStart - nameStart - 2),
                known: name.known?.rawValue ?? Entry.unknown,
                isVerbatim: true
            )
        )
        if let known = name.known { present |= 1 << UInt64(known.rawValue) }
    }

    /// The value bytes of the first line of a known field.
    @inline(__always)
    package func withValue<Result>(
        of known: KnownField,
        _ body: (Span<UInt8>) -> Result
    ) -> Result? {
        guard contains(known) else { return nil }
        for entry in entries where entry.known == known.rawValue {
            return body(arena.span.extracting(valueRange(entry)))
        }
        return nil
    }

    /// Visits every line as bytes, in order.
    package func forEachLine(
        _ body: (KnownField?, _ name: Span<UInt8>, _ value: Span<UInt8>) -> Void
    ) {
        let bytes = arena.span
        for entry in entries {
            body(
                KnownField(rawValue: entry.known),
                bytes.extracting(nameRange(entry)),
                bytes.extracting(valueRange(entry))
            )
        }
    }

    /// Writes the lines, each with CRLF, without the empty line that ends the section.
    ///
    /// The `omitted` fields are those that the caller writes itself, or not at all.
    package func encode(into output: OutputBuffer, omitting omitted: KnownFieldSet = []) {
        let bytes = arena.span
        var runStart = 0
        var runEnd = 0
        for entry in entries where !omitted.containsRaw(entry.known) {
            let lineStart = Int(entry.nameStart)
            let valueEnd = Int(entry.valueStart + entry.valueCount)
            if entry.isVerbatim {
                if lineStart != runEnd {
                    output.append(bytes.extracting(runStart..<runEnd))
                    runStart = lineStart
                }
                runEnd = valueEnd + 2
            } else {
                output.append(bytes.extracting(runStart..<runEnd))
                (runStart, runEnd) = (0, 0)
                output.append(bytes.extracting(nameRange(entry)))
                output.append(": ")
                output.append(bytes.extracting(valueRange(entry)))
                output.append("\r\n")
            }
        }
        output.append(bytes.extracting(runStart..<runEnd))
    }
}

extension HTTPHeaders: Sequence {
    /// The field lines, in order.
    public func makeIterator() -> some IteratorProtocol<HTTPField> {
        entries.lazy.map { entry in
            HTTPField(
                validated: HTTPFieldName(stringLiteral: arena.string(in: nameRange(entry))),
                arena.string(in: valueRange(entry))
            )
        }.makeIterator()
    }
}

extension HTTPHeaders: Equatable {
    /// Whether both hold the same fields in the same order; names without regard to case.
    public static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool {
        left.elementsEqual(right)
    }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    /// Makes a section from literals, whose values must be fit for the wire.
    public init(dictionaryLiteral elements: (HTTPFieldName, String)...) {
        self.init()
        for (name, value) in elements {
            precondition(Grammar.isFieldValue(value), "a field value has no control bytes")
            append(name, validated: value)
        }
    }
}

extension HTTPHeaders: CustomStringConvertible {
    /// The lines, with the values of credential fields left out.
    public var description: String {
        map(\.description).joined(separator: "\n")
    }
}
