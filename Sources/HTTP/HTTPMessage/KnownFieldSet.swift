/// A set of known fields, one bit each.
package struct KnownFieldSet: OptionSet, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Creates a set of the given fields.
    package init(_ fields: KnownField...) {
        rawValue = fields.reduce(0) { $0 | 1 << UInt64($1.rawValue) }
    }

    /// Creates the set of known fields for which `isMember` returns true.
    package init(where isMember: (KnownField) -> Bool) {
        rawValue = KnownField.allCases.reduce(0) {
            isMember($1) ? $0 | 1 << UInt64($1.rawValue) : $0
        }
    }

    /// Whether the field is in the set.
    package func contains(_ field: KnownField) -> Bool {
        rawValue & (1 << UInt64(field.rawValue)) != 0
    }

    /// Whether the sets have no field in common.
    ///
    /// Cheaper than `SetAlgebra`'s generic default.
    package func isDisjoint(with other: KnownFieldSet) -> Bool { rawValue & other.rawValue == 0 }

    /// Whether the set contains a raw value, which need not belong to a known field.
    func containsRaw(_ raw: UInt8) -> Bool {
        raw < 64 && rawValue & (1 << UInt64(raw)) != 0
    }

    /// The empty set; cheaper than the literal `[]`, which uses `SetAlgebra`'s generic initializer.
    package static var none: KnownFieldSet { KnownFieldSet(rawValue: 0) }
    /// The fields for the next hop only; see `KnownField.isHopByHop`.
    package static let hopByHop = KnownFieldSet(where: \.isHopByHop)
}
