/// The channels by the host that requests name.
///
/// Most requests name `localhost` or a similar host and are routed by their path: its length alone tells
/// that a host belongs to no channel.
struct HostIndex: Sendable {
    private let channels: [String: Int]
    /// A bit for the length of each host; the last one is for all that are longer.
    private let lengths: UInt64

    init(_ channels: [String: Int]) {
        self.channels = channels
        lengths = channels.keys.reduce(0) { $0 | HostIndex.length(of: $1) }
    }

    /// The channel of a host in lower case.
    subscript(_ host: String) -> Int? {
        lengths & HostIndex.length(of: host) == 0 ? nil : channels[host]
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
