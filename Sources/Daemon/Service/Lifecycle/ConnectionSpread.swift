import Synchronization

/// Distributes the connections of clients over the loops.
///
/// All loops accept from the same sockets, and the kernel wakes any of them. Of 60 simultaneous requests, up
/// to 38 found their loop's share of the pool in use, while other loops had room. A loop therefore passes a
/// new connection to another loop with fewer connections.
final class ConnectionSpread<Server: Sendable>: Sendable {
    /// The number of connections that one loop serves; idle ones do not count.
    final class Load: Sendable {
        fileprivate let count = Atomic(0)

        /// Adds a connection.
        func add() { count.add(1, ordering: .relaxed) }

        /// Subtracts a connection that was closed or became idle.
        func remove() { count.subtract(1, ordering: .relaxed) }
    }

    private struct LoopServer {
        let load: Load
        let server: Server
    }

    private let places = Mutex<[LoopServer]>([])

    /// Adds a loop's server, and returns its load.
    func join(_ server: Server) -> Load {
        let load = Load()
        places.withLock { $0.append(LoopServer(load: load, server: server)) }
        return load
    }

    /// Removes a loop.
    func leave(_ load: Load) {
        places.withLock { places in places.removeAll { $0.load === load } }
    }

    /// Returns a server with a smaller load than `load` to serve a new connection.
    ///
    /// The connection is added to that server's load immediately.
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
