/// The input of one run.
///
/// A failed `check` ends the process, and the fuzzer keeps the input.
struct Input {
    let bytes: [UInt8]

    init(_ start: UnsafePointer<UInt8>?, _ count: Int) {
        // SAFETY: the fuzzer owns `count` bytes there for the duration of the call.
        bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    }

    /// Where to split the bytes; determined by the input.
    var cut: Int {
        let sum = bytes.reduce(5381) { ($0 &* 33) ^ Int($1) }
        return bytes.isEmpty ? 0 : (sum & Int.max) % (bytes.count + 1)
    }

    /// Checks a rule that must hold for every input.
    static func check(_ holds: Bool, _ rule: StaticString) {
        guard !holds else { return }
        // Unlike a precondition, it prints the rule in an optimised build.
        fatalError("\(rule)")
    }
}
