import Synchronization

/// Counts the connections from clients over all loops, so that the limit holds for the process.
final class ConnectionCount: Sendable {
    private let open = Atomic(0)
    private let beyond = Atomic(0)
    /// How many were rejected since the start.
    var refused: Int { beyond.load(ordering: .relaxed) }

    /// Counts a connection; returns `false` if there are `limit` already: then it counts as rejected.
    func add(upTo limit: Int) -> Bool {
        guard open.add(1, ordering: .relaxed).newValue > limit else { return true }
        remove()
        beyond.add(1, ordering: .relaxed)
        return false
    }

    /// Counts a connection less.
    func remove() {
        open.subtract(1, ordering: .relaxed)
    }
}
