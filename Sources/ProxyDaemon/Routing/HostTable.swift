/// The channels by the host that requests name.
///
/// Most requests name `localhost` or a host of the same kind, and are routed by their path: that a host
/// is none of a channel's is told by its length, without a look into the table.
struct HostTable: Sendable {
    private let channels: [String: Int]
    /// A bit for each length that there is; the last stands for all that are longer.
    private let lengths: UInt64

    init(_ channels: [String: Int]) {
        self.channels = channels
        lengths = channels.keys.reduce(0) { $0 | HostTable.length(of: $1) }
    }

    /// The channel of a host in lower case.
    subscript(_ host: String) -> Int? {
        lengths & HostTable.length(of: host) == 0 ? nil : channels[host]
    }

    private static func length(of host: String) -> UInt64 {
        1 << UInt64(min(host.utf8.count, 63))
    }
}
