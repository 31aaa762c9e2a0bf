import NetproxyEventIO

/// When to ask the name servers again for the host of a pool, and what they said last.
///
/// A connection that is in use all the time would otherwise go to the address it was made to for ever,
/// whatever its name has become. The system's resolver does not tell how long an answer holds, so that
/// the time is fixed, like nginx's `valid=30s`.
///
/// Not `Sendable`: it belongs to a pool.
final class NameWatch {
    /// How long no question is asked after one, in nanoseconds of the loop's clock: 20 s.
    private static let interval: UInt64 = 20_000_000_000
    /// How old an answer may be that another pool has asked for: with the interval, 30 s in all.
    static let tolerance = Duration.seconds(10)

    /// Whether there is a name to follow, and not only an address.
    let isFollowed: Bool
    /// Counts the answers that differ from the one before.
    private(set) var generation = 0
    private var asked: UInt64?
    private var addresses: Set<SocketAddress>?

    init(host: String?) {
        isFollowed = host.map { SocketAddress(ip: $0, port: 0) == nil } ?? false
    }

    /// Whether to ask; the first call only starts the time, since the name was just looked up.
    func isDue(at now: UInt64) -> Bool {
        guard isFollowed else { return false }
        guard let asked else {
            self.asked = now
            return false
        }
        return now &- asked >= NameWatch.interval
    }

    /// A question is on its way.
    func begin(at now: UInt64) { asked = now }

    /// Takes an answer.
    func learn(_ found: [SocketAddress]) {
        let found = Set(found)
        guard found != addresses else { return }
        addresses = found
        generation += 1
    }

    /// Whether the name has the address, as far as is known.
    func admits(_ address: SocketAddress) -> Bool { addresses?.contains(address) ?? true }
}
