import Bytes
import HTTPMessage

/// The channels by path prefix: a hash of the first segment leads to the longest prefix that ends where a
/// segment does.
///
/// A lookup among a thousand channels costs no more than among one.
struct PathTable: Sendable {
    /// One channel's prefix.
    struct Rule: Sendable {
        let channel: Int
        /// Without the slash at the end: `/orders`; empty for `/`.
        let prefix: String
        /// Whether the prefix is removed.
        let strips: Bool
    }

    /// Lists of rules, longest prefix first; the number of slots is a power of two.
    private let slots: [[Rule]]
    /// The rules for `/`, which match what no other does.
    private let roots: [Rule]

    init(_ rules: [Rule]) {
        let sorted = rules.sorted { $0.prefix.utf8.count > $1.prefix.utf8.count }
        var size = 16
        while size < rules.count * 2 { size *= 2 }
        var slots = [[Rule]](repeating: [], count: size)
        for rule in sorted where !rule.prefix.isEmpty {
            slots[PathTable.hash(rule.prefix.utf8.span) & (size - 1)].append(rule)
        }
        self.slots = slots
        roots = sorted.filter(\.prefix.isEmpty)
    }

    /// The rule with the longest prefix of a target.
    func rule(for target: String) -> Rule? {
        let bytes = target.utf8.span
        for rule in slots[PathTable.hash(bytes) & (slots.count - 1)]
        where PathTable.matches(rule.prefix.utf8.span, bytes) {
            return rule
        }
        return roots.first
    }

    /// Whether a target begins with the prefix at a segment boundary: `/orders` matches `/orders`,
    /// `/orders/1` and `/orders?x`, but not `/orders2`.
    private static func matches(_ prefix: Span<UInt8>, _ target: Span<UInt8>) -> Bool {
        guard target.count >= prefix.count else { return false }
        for index in prefix.indices where prefix[index] != target[index] { return false }
        return target.count == prefix.count || isEnd(target[prefix.count])
    }

    /// FNV-1a over the first segment.
    private static func hash(_ target: Span<UInt8>) -> Int {
        var hash: UInt32 = 2_166_136_261
        var index = 1
        while index < target.count, !isEnd(target[index]) {
            hash = (hash ^ UInt32(target[index])) &* 16_777_619
            index += 1
        }
        return Int(hash ^ hash >> 16)
    }

    private static func isEnd(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?")
    }
}
