/// Parses whole numbers of ASCII digits; `Int(text)` would also accept `+5`.
enum WholeNumber {
    /// Parses one to fifteen ASCII digits; nil for anything else.
    static func parse(_ text: some StringProtocol) -> Int? {
        guard (1...15).contains(text.utf8.count) else { return nil }
        var value = 0
        for byte in text.utf8 {
            guard digit.contains(byte) else { return nil }
            value = value * 10 + Int(byte - digit.lowerBound)
        }
        return value
    }

    /// Parses any number of ASCII digits; larger numbers are clamped to `limit`.
    static func parse(_ text: some StringProtocol, atMost limit: Int) -> Int? {
        let digits = text.drop { $0 == "0" }
        if digits.utf8.count > 15, digits.utf8.allSatisfy(digit.contains) { return limit }
        return (digits.isEmpty && !text.isEmpty ? 0 : parse(digits)).map { min($0, limit) }
    }

    private static let digit = UInt8(ascii: "0")...UInt8(ascii: "9")
}

/// A share from 0% to 100%, written with a percent sign: `20%`.
package struct Percentage: Sendable, Hashable {
    package let percent: Int

    package init(_ percent: Int) {
        self.percent = percent
    }

    package init?(text: String) {
        guard text.hasSuffix("%"), let percent = WholeNumber.parse(text.dropLast()), percent <= 100
        else { return nil }
        self.percent = percent
    }
}
