import Synchronization

/// Counts the connections from clients over all loops, so that the limit applies to the process.
final class ConnectionCount: Sendable {
    private let open = Atomic(0)
    private let beyond = Atomic(0)
    /// The number of rejected connections since the start.
    var refused: Int { beyond.load(ordering: .relaxed) }

    /// Counts a connection, or counts it as rejected if `limit` connections exist already.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of connections.
    ///   - makesRoom: ends another connection if the limit is reached; this may take a moment.
    /// - Returns: whether the connection may stay.
    func add(upTo limit: Int, orFreeing makesRoom: () -> Bool = { false }) -> Bool {
        guard open.add(1, ordering: .relaxed).newValue > limit, !makesRoom() else { return true }
        remove()
        beyond.add(1, ordering: .relaxed)
        return false
    }

    /// Subtracts a connection.
    func remove() {
        open.subtract(1, ordering: .relaxed)
    }
}
