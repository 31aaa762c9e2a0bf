import Bytes

/// Makes the ids of exchanges: 15 characters, which a `String` holds without an allocation.
///
/// 40 random bits for the loop of a process, and a counter of 35 bits, both in base 32.
///
/// Not `Sendable`.
final class RequestIDs {
    private static let digits = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)
    private var bytes = InlineArray<15, UInt8>(repeating: 0)
    private var counter: UInt64

    /// Starts a sequence that no other loop or process has.
    init(counter: UInt64 = .random(in: 0..<(1 << 30))) {
        self.counter = counter
        for index in 0..<8 { bytes[index] = RequestIDs.digits[Int.random(in: 0..<32)] }
        for index in 8..<15 {
            bytes[index] = RequestIDs.digits[Int(counter >> (5 * UInt64(14 - index)) & 31)]
        }
    }

    /// The next id.
    func next() -> String {
        counter &+= 1
        let digits = RequestIDs.digits
        // Mostly the last digit only.
        var index = 14
        bytes[index] = digits[Int(counter & 31)]
        var rest = counter
        while rest & 31 == 0, index > 8 {
            rest >>= 5
            index -= 1
            bytes[index] = digits[Int(rest & 31)]
        }
        let text = bytes
        return String(ascii: text.span)
    }
}
