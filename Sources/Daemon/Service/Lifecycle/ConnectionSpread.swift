import Synchronization

/// Spreads the connections of clients over the loops.
///
/// All loops accept from the same sockets, and the kernel wakes any of them: of 60 simultaneous
/// requests up to 38 found their loop's share of the pool taken, while other loops had room. So a loop
/// passes a new connection to another loop that has fewer.
final class ConnectionSpread<Server: Sendable>: Sendable {
    /// How many connections one loop has to serve; idle ones do not count.
    final class Load: Sendable {
        fileprivate let count = Atomic(0)

        /// Counts a connection.
        func add() { count.add(1, ordering: .relaxed) }

        /// Counts a connection less: it is closed or idle.
        func remove() { count.subtract(1, ordering: .relaxed) }
    }

    private struct Place {
        let load: Load
        let server: Server
    }

    private let places = Mutex<[Place]>([])

    /// Adds a loop's server, and returns its load.
    func join(_ server: Server) -> Load {
        let load = Load()
        places.withLock { $0.append(Place(load: load, server: server)) }
        return load
    }

    /// Removes a loop.
    func leave(_ load: Load) {
        places.withLock { places in places.removeAll { $0.load === load } }
    }

    /// Returns a server with a smaller load than a loop's, to serve a new connection; it counts there at
    /// once.
    func lighter(than load: Load) -> Server? {
        let own = load.count.load(ordering: .relaxed)
        return places.withLock { places in
            let counts = places.map { $0.load.count.load(ordering: .relaxed) }
            guard let least = counts.min(), least < own,
                let index = counts.firstIndex(of: least)
            else { return nil }
            places[index].load.add()
            return places[index].server
        }
    }
}
