import Synchronization

/// Names calls: a random word of the process, and a number that counts up.
///
/// Chance is asked once: a system call for each id costs more than the rest of it.
enum CallID {
    private static let word = String(UInt64.random(in: .min ... .max), radix: 36)
    private static let count = Atomic<UInt64>(0)

    /// An id that no other call has.
    static func next() -> String {
        "\(word)-\(String(count.add(1, ordering: .relaxed).newValue, radix: 36))"
    }
}
