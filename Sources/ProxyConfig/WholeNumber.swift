/// Decimal digits and nothing else.
///
/// `Int(text)` also takes `+5`, and Unicode has more digits than a configuration should.
enum WholeNumber {
    /// Reads one to fifteen ASCII digits; nil for anything else.
    static func parse(_ text: some StringProtocol) -> Int? {
        guard (1...15).contains(text.utf8.count) else { return nil }
        var value = 0
        for byte in text.utf8 {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            value = value * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return value
    }
}
