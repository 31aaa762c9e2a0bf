import NetproxyBytes

/// A lookup table for known field names, open-addressed, hashed by length, first, middle and last letter.
struct KnownFieldTable {
    private static let size = 512
    private static let absent: UInt8 = 0xFF
    private static let shared = KnownFieldTable()

    /// The raw values of `KnownField`, or `absent`.
    private let slots: [UInt8]
    /// The names in lowercase, by raw value: 32 bytes each, the first of which is the length.
    private let names: [UInt8]

    private init() {
        var slots = [UInt8](repeating: KnownFieldTable.absent, count: KnownFieldTable.size)
        var names: [UInt8] = []
        for field in KnownField.allCases {
            let name = Array(field.text.utf8).map(Grammar.lowercased)
            var slot = KnownFieldTable.slot(of: name.span)
            while slots[slot] != KnownFieldTable.absent { slot = KnownFieldTable.next(slot) }
            slots[slot] = field.rawValue
            names.append(UInt8(name.count))
            names += name + [UInt8](repeating: 0, count: 31 - name.count)
        }
        self.slots = slots
        self.names = names
    }

    /// Returns the known field with this name, which must be a token.
    static func lookup(_ name: Span<UInt8>) -> KnownField? {
        guard name.count > 1, name.count < 32 else { return nil }
        let table = shared
        var slot = slot(of: name)
        while true {
            let candidate = table.slots[slot]
            if candidate == absent { return nil }
            if table.isName(of: candidate, name) { return KnownField(rawValue: candidate) }
            slot = next(slot)
        }
    }

    static func lookup(_ name: String) -> KnownField? {
        lookup(name.utf8.span)
    }

    /// Returns the known field that a token looks like.
    static func lookup(folding name: Span<UInt8>) -> KnownField? {
        guard name.count < 32 else { return nil }
        var folded = InlineArray<32, UInt8>(repeating: 0)
        for index in name.indices { folded[index] = HTTPFieldName.folded(name[index]) }
        return lookup(folded.span.extracting(first: name.count))
    }

    private func isName(of candidate: UInt8, _ name: Span<UInt8>) -> Bool {
        let start = Int(candidate) * 32
        guard Int(names[start]) == name.count else { return false }
        return name.isToken(named: names.span.extracting((start + 1)..<(start + 1 + name.count)))
    }

    /// Returns the slot at which the search for a name begins.
    private static func slot(of name: Span<UInt8>) -> Int {
        let first = Int(Grammar.lowercased(name[0]))
        let middle = Int(Grammar.lowercased(name[name.count / 2]))
        let last = Int(Grammar.lowercased(name[name.count - 1]))
        return (first &* 7 &+ middle &* 31 &+ last &* 131 &+ name.count &* 67) & (size - 1)
    }

    private static func next(_ slot: Int) -> Int { (slot + 1) & (size - 1) }
}
