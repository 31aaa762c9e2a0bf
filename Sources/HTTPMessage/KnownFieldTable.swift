import Bytes

/// Finds a known field by its bytes: an open-addressed table over length, first and last letter.
enum KnownFieldTable {
    private static let size = 512
    private static let absent: UInt8 = 0xFF

    /// The slots hold raw values of `KnownField`; the names stand beside them in lower case.
    private static let slots: [UInt8] = {
        var slots = [UInt8](repeating: absent, count: size)
        for field in KnownField.allCases {
            let name = Array(field.text.utf8).map(Grammar.lowercased)
            var slot = hash(name.count, name[0], name[name.count / 2], name[name.count - 1])
            while slots[slot] != absent { slot = (slot + 1) & (size - 1) }
            slots[slot] = field.rawValue
        }
        return slots
    }()

    /// The names in lower case, 32 bytes each: the first is the length.
    private static let names: [UInt8] = KnownField.allCases.flatMap { field in
        let name = Array(field.text.utf8).map(Grammar.lowercased)
        return [UInt8(name.count)] + name + [UInt8](repeating: 0, count: 31 - name.count)
    }

    /// The known field with this name, a token, if there is one.
    static func lookup(_ name: Span<UInt8>) -> KnownField? {
        let count = name.count
        guard count > 1, count < 32 else { return nil }
        var slot = hash(
            count,
            Grammar.lowercased(name[0]),
            Grammar.lowercased(name[count / 2]),
            Grammar.lowercased(name[count - 1])
        )
        while true {
            let candidate = slots[slot]
            if candidate == absent { return nil }
            if matches(Int(candidate) * 32, names.span, name) {
                return KnownField(rawValue: candidate)
            }
            slot = (slot + 1) & (size - 1)
        }
    }

    static func lookup(_ name: String) -> KnownField? {
        lookup(name.utf8.span)
    }

    private static func matches(
        _ start: Int,
        _ names: Span<UInt8>,
        _ name: Span<UInt8>
    ) -> Bool {
        guard Int(names[start]) == name.count else { return false }
        return name.isToken(named: names.extracting((start + 1)..<(start + 1 + name.count)))
    }

    private static func hash(_ count: Int, _ first: UInt8, _ middle: UInt8, _ last: UInt8) -> Int {
        let mixed = Int(first) &* 7 &+ Int(middle) &* 31 &+ Int(last) &* 131 &+ count &* 67
        return mixed & (size - 1)
    }
}
