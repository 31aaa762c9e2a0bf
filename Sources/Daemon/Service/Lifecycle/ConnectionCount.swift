import Synchronization

/// Counts the connections from clients over all loops, so that the limit holds for the process.
final class ConnectionCount: Sendable {
    private let open = Atomic(0)
    private let beyond = Atomic(0)
    /// How many were rejected since the start.
    var refused: Int { beyond.load(ordering: .relaxed) }

    /// Counts a connection, or counts it as rejected where there are `limit` already.
    ///
    /// - Parameters:
    ///   - limit: how many there may be.
    ///   - makesRoom: ends another one, where there are as many; that may take a moment.
    /// - Returns: whether the connection may stay.
    func add(upTo limit: Int, orFreeing makesRoom: () -> Bool = { false }) -> Bool {
        guard open.add(1, ordering: .relaxed).newValue > limit, !makesRoom() else { return true }
        remove()
        beyond.add(1, ordering: .relaxed)
        return false
    }

    /// Counts a connection less.
    func remove() {
        open.subtract(1, ordering: .relaxed)
    }
}
