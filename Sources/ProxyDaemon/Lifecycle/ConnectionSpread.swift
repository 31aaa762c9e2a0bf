import Synchronization

/// Spreads the connections of apps over the loops.
///
/// All loops accept from the same sockets, and the kernel wakes whom it likes: of 60 requests at once
/// up to 38 found their loop's share of the pool taken, while other loops had room. So one loop hands
/// over to another what that has less of.
final class ConnectionSpread<Server: Sendable>: Sendable {
    /// How many connections one loop has to serve; those that rest for a while do not count.
    final class Load: Sendable {
        fileprivate let count = Atomic(0)

        /// One more has to be served.
        func add() { count.add(1, ordering: .relaxed) }

        /// One is closed, or rests.
        func remove() { count.subtract(1, ordering: .relaxed) }
    }

    private struct Place {
        let load: Load
        let server: Server
    }

    private let places = Mutex<[Place]>([])

    /// Takes who serves a loop's connections among those that they are spread over.
    func join(_ server: Server) -> Load {
        let load = Load()
        places.withLock { $0.append(Place(load: load, server: server)) }
        return load
    }

    /// Spreads no more to a loop.
    func leave(_ load: Load) {
        places.withLock { places in places.removeAll { $0.load === load } }
    }

    /// Who has less to do than a loop, so that a new connection is better served there; it counts there
    /// at once.
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
