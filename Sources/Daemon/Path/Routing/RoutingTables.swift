import NetproxyBytes
import NetproxyHTTPMessage

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

    /// The path that was probably meant: `; did you mean /orders/1?`; empty if none is alike.
    func suggestion(for target: String) -> String {
        let path = String(TargetPath(target).path)
        let prefixes = slots.flatMap { $0 }.map(\.prefix).sorted()
        // As many segments as the prefix that it is compared with.
        for length in Set(prefixes.map { $0.count { $0 == "/" } }).sorted(by: >) {
            let segments = path.split(separator: "/", omittingEmptySubsequences: false)
            guard segments.count > length else { continue }
            let start = segments[...length].joined(separator: "/")
            let alike = prefixes.filter { $0.count { $0 == "/" } == length }
            guard let prefix = NearestKey.likely(start, among: alike) else { continue }
            let rest = segments[(length + 1)...].map { "/\($0)" }.joined()
            return "; did you mean \(prefix)\(rest)?"
        }
        return ""
    }

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

/// The channels by the host that requests name.
///
/// Most requests name `localhost` or a similar host and are routed by their path: its length alone tells
/// that a host belongs to no channel.
struct HostIndex: Sendable {
    private let channels: [String: Int]
    /// Of patterns such as `*.a.example`, by what follows the star.
    private let suffixes: [String: Int]
    /// A bit for the length of each host; the last one is for all that are longer.
    private let lengths: UInt64

    init(_ hosts: [String: Int]) {
        let patterns = hosts.filter { $0.key.hasPrefix("*.") }
        suffixes = Dictionary(
            uniqueKeysWithValues: patterns.map { (String($0.key.dropFirst()), $0.value) }
        )
        channels = hosts.filter { patterns[$0.key] == nil }
        lengths = channels.keys.reduce(0) { $0 | HostIndex.length(of: $1) }
    }

    /// The channel of a host in lower case.
    subscript(_ host: String) -> Int? {
        lengths & HostIndex.length(of: host) == 0 ? nil : channels[host]
    }

    /// The channel of the longest pattern that a host in lower case matches, at any depth.
    // Apart from the names: where no channel has a pattern, nothing is looked for.
    func matching(_ host: String) -> Int? {
        guard !suffixes.isEmpty else { return nil }
        var rest = host[...]
        while let dot = rest.dropFirst().firstIndex(of: ".") {
            rest = rest[dot...]
            if let channel = suffixes[String(rest)] { return channel }
        }
        return nil
    }

    private static func length(of host: String) -> UInt64 {
        1 << UInt64(min(host.utf8.count, 63))
    }
}

/// A host in the configuration: a name, `*.suffix` or `*`.
enum HostPattern {
    /// Whether the pattern matches the host, both in lower case.
    ///
    /// `*.a.example` matches every name below `a.example`, at any depth, but not `a.example`.
    static func matches(_ pattern: String, _ host: String) -> Bool {
        if pattern == "*" { return true }
        if pattern.hasPrefix("*.") { return host.hasSuffix(pattern.dropFirst()) }
        return pattern == host
    }
}
