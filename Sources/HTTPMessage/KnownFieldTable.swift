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

    private static let names: [[UInt8]] = KnownField.allCases.map {
        Array($0.text.utf8).map(Grammar.lowercased)
    }

    /// The known field with this name, if there is one.
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
            if matches(names[Int(candidate)], name) { return KnownField(rawValue: candidate) }
            slot = (slot + 1) & (size - 1)
        }
    }

    static func lookup(_ name: String) -> KnownField? {
        let bytes = Array(name.utf8)
        return lookup(bytes.span)
    }

    private static func matches(_ known: [UInt8], _ name: Span<UInt8>) -> Bool {
        guard known.count == name.count else { return false }
        for index in name.indices where Grammar.lowercased(name[index]) != known[index] {
            return false
        }
        return true
    }

    private static func hash(_ count: Int, _ first: UInt8, _ middle: UInt8, _ last: UInt8) -> Int {
        let mixed = Int(first) &* 7 &+ Int(middle) &* 31 &+ Int(last) &* 131 &+ count &* 67
        return mixed & (size - 1)
    }
}
