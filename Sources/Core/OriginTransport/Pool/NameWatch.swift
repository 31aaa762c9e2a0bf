import NetproxyEventIO

/// The schedule of name lookups for the host of a pool, and the last result.
///
/// Without lookups, a connection in constant use would keep its address even after the name has moved. The
/// interval is fixed, like nginx's `valid=30s`, since the system's resolver returns no lifetime.
///
/// Not `Sendable`: it belongs to a pool.
final class NameWatch {
    /// The time between lookups, in nanoseconds of the loop's clock: 20 s.
    private static let interval: UInt64 = 20_000_000_000
    /// The maximum age of a lookup made by another pool; with `interval`, 30 s in total.
    static let tolerance = Duration.seconds(10)

    /// Whether the host is a name, which can move, rather than an address.
    let isFollowed: Bool
    /// The number of results that differed from the previous one.
    private(set) var generation = 0
    private var asked: UInt64?
    private var addresses: Set<SocketAddress>?

    init(host: String?) {
        isFollowed = host.map { SocketAddress(ip: $0, port: 0) == nil } ?? false
    }

    /// Whether a lookup is due; the first call only starts the interval, since the name was just looked up.
    func isDue(at now: UInt64) -> Bool {
        guard isFollowed else { return false }
        guard let asked else {
            self.asked = now
            return false
        }
        return now &- asked >= NameWatch.interval
    }

    /// Records the start of a lookup.
    func begin(at now: UInt64) { asked = now }

    /// Records a result.
    func learn(_ found: [SocketAddress]) {
        let found = Set(found)
        guard found != addresses else { return }
        addresses = found
        generation += 1
    }

    /// Whether the last result contains the address.
    func admits(_ address: SocketAddress) -> Bool { addresses?.contains(address) ?? true }
}
