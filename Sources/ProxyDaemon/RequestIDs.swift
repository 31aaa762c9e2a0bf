/// Makes the ids of exchanges: 15 characters, which a `String` holds without memory of its own.
///
/// 40 random bits for the loop of a process, and a counter of 35 bits, both in base 32.
struct RequestIDs {
    private static let digits = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)
    private var bytes = [UInt8](repeating: 0, count: 15)
    private var counter = UInt64.random(in: 0..<(1 << 30))

    /// Starts a sequence that no other loop or process has.
    init() {
        for index in 0..<8 { bytes[index] = RequestIDs.digits[Int.random(in: 0..<32)] }
    }

    /// The next id.
    mutating func next() -> String {
        counter &+= 1
        var rest = counter
        let digits = RequestIDs.digits
        var text = bytes.mutableSpan
        var index = 15
        while index > 8 {
            index -= 1
            text[index] = digits[Int(rest & 31)]
            rest >>= 5
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
