import NetproxyBytes
import NetproxyHTTPMessage

/// The channels by path prefix.
///
/// A hash of the first segment finds the longest prefix that ends at a segment boundary. A lookup among a
/// thousand channels costs no more than among one.
struct PathTable: Sendable {
    /// The prefix of one channel.
    struct Rule: Sendable {
        let channel: Int
        /// The prefix without the final slash: `/orders`; empty for `/`.
        let prefix: String
        /// Whether the prefix is removed.
        let strips: Bool
    }

    /// The rules by hash, longest prefix first; the number of slots is a power of two.
    private let slots: [[Rule]]
    /// The rules for `/`, which match all other paths.
    private let roots: [Rule]

    /// Returns a suggestion for a mistyped path: `; did you mean /orders/1?`; empty if no prefix is
    /// similar.
    func suggestion(for target: String) -> String {
        let path = String(TargetPath(target).path)
        let prefixes = slots.flatMap { $0 }.map(\.prefix).sorted()
        // Compare as many segments as the prefix has.
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

    /// Returns the rule with the longest prefix of a target.
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

    /// Hashes the first segment with FNV-1a.
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

/// The channels by host.
///
/// Most requests name `localhost` or a similar host and are routed by their path, so the length of the
/// host usually shows that no channel claims it.
struct HostIndex: Sendable {
    private let channels: [String: Int]
    /// The channels of patterns such as `*.a.example`, by the text after the star.
    private let suffixes: [String: Int]
    /// The lengths of the hosts, as bits; the last bit is for all longer ones.
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

    /// Returns the channel of the longest pattern that matches a host in lower case, at any depth.
    ///
    /// Separate from the subscript, so that configurations without patterns skip this search.
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
