/// The shares of the senders in the connections of a pool.
///
/// One sender alone never uses the last tenth of a pool, and while several senders wait, a sender that uses
/// its share gets no further connection. A sender is a client of the daemon. The requests of a program that
/// uses the library have no shares.
///
/// The uses are counted only if a connection is scarce, so an ordinary exchange costs one store. Not
/// `Sendable`: it belongs to a pool.
struct PoolShares {
    /// The maximum number of connections of one sender.
    let largest: Int
    private let size: Int
    private let isEnabled: Bool
    private var connections: [UpstreamConnection] = []
    private var dials: [ObjectIdentifier?: Int] = [:]

    /// Creates the shares of a pool with the given number of connections.
    init(of connections: Int, for service: UpstreamPeer.Service) {
        isEnabled = service == .connections
        size = connections
        largest = isEnabled ? connections - connections / 10 : connections
    }

    mutating func opened(_ connection: UpstreamConnection) { connections.append(connection) }

    mutating func closed(_ connection: UpstreamConnection) {
        connections.removeAll { $0 === connection }
    }

    mutating func beginDial(of sender: ObjectIdentifier?) { dials[sender, default: 0] += 1 }

    mutating func endDial(of sender: ObjectIdentifier?) {
        let left = (dials[sender] ?? 0) - 1
        dials[sender] = left > 0 ? left : nil
    }

    /// The number of attempts to connect.
    var dialCount: Int { dials.values.reduce(0, +) }

    /// Whether a sender may use another connection of a pool with `used` connections in use.
    func admits(_ sender: ObjectIdentifier?, used: Int) -> Bool {
        used < largest || uses[sender] ?? 0 < largest
    }

    /// Removes and returns the next waiter, considering the shares.
    func next(of waiters: PoolQueue) -> PoolWaiter? {
        guard isEnabled, waiters.count > 0 else { return waiters.takeWaiting() }
        let uses = uses
        let share = max(1, size / Set(waiters.senders).union(uses.keys).count)
        return waiters.takeWaiting { uses[$0] ?? 0 < share }
            ?? waiters.takeWaiting { uses[$0] ?? 0 < largest }
    }

    /// The number of connections and dials of each sender.
    private var uses: [ObjectIdentifier?: Int] {
        connections.reduce(into: dials) { if $1.isInUse { $0[$1.sender, default: 0] += 1 } }
    }
}
