/// A number of bytes, written in the configuration with its unit: `512B`, `64KiB`, `8MiB`, `1GiB`.
package struct ByteCount: Sendable, Hashable, Comparable {
    package let bytes: Int

    package init(_ bytes: Int) {
        self.bytes = bytes
    }

    package static func kibibytes(_ count: Int) -> ByteCount { ByteCount(count << 10) }

    package static func mebibytes(_ count: Int) -> ByteCount { ByteCount(count << 20) }

    /// Parses a size; nil without a unit, with a sign or a fraction, or above 1024 GiB.
    package init?(text: String) {
        guard let (count, unit) = Self.parts(of: text), count <= Self.largest / unit else {
            return nil
        }
        bytes = count * unit
    }

    /// Whether the text is a size, even if it is too large.
    static func isWellFormed(_ text: String) -> Bool { parts(of: text) != nil }

    static let form = "a size such as 64KiB"

    /// Returns the expected form for a number with another unit or none, or nil for other texts.
    static func bound(of text: String) -> String? {
        text.first?.isNumber == true ? "\(form) (B, KiB, MiB or GiB)" : nil
    }

    private static let largest = 1 << 40

    private static func parts(of text: String) -> (count: Int, unit: Int)? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let count = WholeNumber.parse(digits, atMost: largest + 1),
            let unit = units[String(text.dropFirst(digits.count))]
        else { return nil }
        return (count, unit)
    }

    package static func < (left: ByteCount, right: ByteCount) -> Bool {
        left.bytes < right.bytes
    }

    private static let units = ["B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30]
}

extension ByteCount: CustomStringConvertible {
    /// The count in the largest unit that divides it evenly.
    package var description: String {
        for (name, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)]
        where bytes >= 1 << shift && bytes % (1 << shift) == 0 {
            return "\(bytes >> shift)\(name)"
        }
        return "\(bytes)B"
    }
}
